"""DVC as a child process: which stages are stale, and reproduce some of them."""

import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from flows.child import Ended, run_child
from flows.failures import RunStoppedError
from stages.contract import Stage

CLONE = Path(__file__).resolve().parent.parent
_CHATTER = (
    "Running stage ",
    "> ",
    "Updating lock file ",
    "Generating lock file ",
    "To track the changes with git",
    "To enable auto staging",
    "git add ",
    "Use `dvc push`",
    "dvc config core.autostage",
    "Verifying data sources",
)
_AFTER_A_KILL = "had been killed. Auto removed it from the lock file"


def repro(
    workspace: Path,
    stages: Sequence[Stage],
    *,
    fresh: bool,
    on_line: Callable[[str], None],
    on_tick: Callable[[], None] = lambda: None,
    time_limit_s: float | None = None,
) -> Ended:
    """Reproduce these stages alone, in the given order; DVC executes or restores each.

    `fresh` executes them even if nothing changed.
    """
    flags = ["--force", "--no-run-cache"] if fresh else []

    def pass_on(line: str) -> None:
        if not line.strip().startswith(_CHATTER) and _AFTER_A_KILL not in line:
            on_line(line)

    return run_child(
        [sys.executable, "-m", "dvc", "repro", "--single-item", *flags, *stages],
        cwd=workspace,
        env=child_environment(),
        on_line=pass_on,
        on_tick=on_tick,
        time_limit_s=time_limit_s,
    )


def stale_stages(workspace: Path) -> frozenset[Stage]:
    """The stages that DVC finds changed, deleted or never run.

    Raises:
        RunStoppedError: DVC cannot tell.
    """
    ended = run_child(
        [sys.executable, "-m", "dvc", "status", "--json"],
        cwd=workspace,
        env=child_environment(),
        on_line=lambda line: None,
    )
    try:
        status = json.loads(ended.lines[-1]) if ended.lines else {}
    except json.JSONDecodeError:
        status = None
    if ended.status != 0 or status is None:
        raise RunStoppedError(f"{workspace}: `dvc status` failed:\n" + "\n".join(ended.lines[-10:]))
    return frozenset(stage for stage in Stage if stage in status)


def child_environment() -> dict[str, str]:
    """Ours, with this interpreter first on PATH, so that `python` in `dvc.yaml` is this one."""
    paths = [
        str(Path(sys.executable).parent),
        *os.environ.get("PATH", os.defpath).split(os.pathsep),
    ]
    modules = [str(CLONE), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {
        **os.environ,
        "PATH": os.pathsep.join(dict.fromkeys(paths)),
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(modules)),
    }
