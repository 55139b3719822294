"""How the first worker that fails tells the launcher why."""

import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def first_failure(folder: Path) -> Path:
    """Where the first worker that fails says why."""
    return folder / "first_failure.txt"


@contextmanager
def failures_told(folder: Path) -> Iterator[None]:
    """Keep the first worker's exception for the launcher: those that follow are consequences."""
    try:
        yield
    except BaseException:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            with first_failure(folder).open("x", encoding="utf-8") as file:
                file.write(f"worker {os.environ.get('RANK', '?')}: {traceback.format_exc()}")
        except FileExistsError:
            pass
        raise
