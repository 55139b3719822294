"""Where the last collected run left its model and its MLflow run; kept for the screens."""

import json
from dataclasses import asdict, dataclass

from stages.contract import SCRATCH, write_text

_PATH = SCRATCH / "last_run.json"


@dataclass(frozen=True)
class LastRun:
    """Of the workspace in the current folder."""

    tracking_uri: str
    run_id: str
    model_name: str | None = None
    model_version: str | None = None
    is_champion: bool = False


def keep_last_run(last: LastRun) -> None:
    """Remember it."""
    write_text(_PATH, json.dumps(asdict(last), indent=2) + "\n")


def find_last_run() -> LastRun | None:
    """The last one; None before the first."""
    if not _PATH.is_file():
        return None
    return LastRun(**json.loads(_PATH.read_text("utf-8")))
