"""The training curve, `curves.jsonl`: one line a step, written while the job runs."""

import json
from pathlib import Path
from typing import TypedDict

CURVES = "curves.jsonl"


class Row(TypedDict):
    """One step."""

    step: int
    """Counted from 1."""
    loss: float
    """Mean over the global batch."""
    seconds: float
    """Wall time of the step, data included."""
    learning_rate: float


class CurveFile:
    """Writes each row at once, so that a reader can follow."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        path.write_text("", "utf-8")

    def __call__(self, row: Row) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


def ignore_row(row: Row) -> None:
    """For workers that keep no curve."""
