"""Follow a stage's `curves.jsonl` while it is being written."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CURVES = "curves.jsonl"


class CurveTail:
    """Rows as they arrive; what an earlier execution left in the file is not shown."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._before = self._identity()
        self._offset = 0

    def new_rows(self) -> Iterator[dict[str, Any]]:
        """The rows that were completed since the last call."""
        identity = self._identity()
        if identity is None or identity == self._before:
            return
        if os.path.getsize(self._path) < self._offset:
            self._offset = 0
        with self._path.open("rb") as file:
            file.seek(self._offset)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self._offset += len(line)
                yield json.loads(line)

    def _identity(self) -> tuple[int, int] | None:
        try:
            facts = self._path.stat()
        except FileNotFoundError:
            return None
        return facts.st_ino, facts.st_mtime_ns


def read_curves(path: Path) -> list[dict[str, Any]]:
    """All rows; none where there is no file."""
    if not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
