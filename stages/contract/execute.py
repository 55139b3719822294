"""What every stage's process does around its own work."""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from stages.contract.errors import InputError
from stages.contract.files import SCRATCH, folder, read_raw, write, write_text
from stages.contract.graph import ALWAYS_TAKEN, Stage, named_by
from stages.contract.parameters import Settings, load_settings
from stages.contract.results import NotTaken, Result

INPUT_ERROR_STATUS = 3
"""Exit status of a stage that refuses its input, told apart from a crash."""


def execute(stage: Stage, work: Callable[[Settings], Result]) -> None:
    """Run one stage in this process: decide whether it is taken, work, keep the result.

    A stage that no upstream result names writes `not_taken` before `work` imports anything.
    """
    _shorten_spinning()
    folder(stage).mkdir(parents=True, exist_ok=True)
    _mark_executed(stage)
    if not is_taken(stage):
        write(NotTaken(stage=stage, reason="no upstream result names it"))
        return
    try:
        write(work(load_settings(stage)))
    except InputError as error:
        print(f"{stage}: {error}", file=sys.stderr)
        sys.exit(INPUT_ERROR_STATUS)


def _shorten_spinning() -> None:
    """Before torch is imported: OpenMP threads that wait for each other soon give up the processor.

    By default they spin for milliseconds, and beside another process take the processor from the
    very thread that they wait for: the 95th percentile of a network of 21 ms went to 137-332 ms,
    and with shorter spinning to 59-75 ms. Alone on the machine nothing changes, and no composition
    of many small operators is slowed, which threads that sleep at once slow fivefold (two cores).
    """
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")


def is_taken(stage: Stage) -> bool:
    """Whether some upstream result names the stage."""
    if stage in ALWAYS_TAKEN:
        return True
    return any(read_raw(source)["next"] == stage for source in named_by(stage))


def executed_mark(stage: Stage) -> Path:
    """A file whose time tells when the stage last ran itself, rather than came from the cache."""
    return SCRATCH / "executed" / stage


def _mark_executed(stage: Stage) -> None:
    write_text(executed_mark(stage), f"{os.getpid()} {time.time()}\n")
