"""Run the battery on an operator's folder in a process of its own, and gather what it found."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import stages
from stages.contract import ErrorAtSize, Figure, NumericsCheck, known, unknown
from stages.numerics.checks import CHECKS
from stages.numerics.request import Request

OPENING = "opening"
"""Name of the only answer where the folder cannot be opened at all."""
POLL_S = 0.1


def examine_folder(request: Request, battery_limit_s: float) -> Iterator[NumericsCheck]:
    """All checks, in their order, each as soon as it is done; one that was not reached has not
    passed, and says why."""
    with tempfile.TemporaryDirectory(prefix="breakeven-numerics-") as scratch:
        target = Path(scratch) / "answers.jsonl"
        target.touch()
        command = [sys.executable, "-m", "stages.numerics.folder_process"]
        command += [request.to_json(), str(target)]
        process = subprocess.Popen(command, env=_environment(), start_new_session=True)
        reached: set[str] = set()
        try:
            with target.open(encoding="utf-8") as answers:
                for line in _follow(answers, process, battery_limit_s):
                    check = _as_check(json.loads(line))
                    reached.add(check.name)
                    yield check
        finally:
            is_over = process.poll() is not None
            _end_group(process)
        limit = f"all checks together took longer than {battery_limit_s:g} s"
        ending = _describe_exit(process.returncode) if is_over else limit
    for wanted in CHECKS if OPENING not in reached else ():
        if wanted.name not in reached and (request.extent == "full" or not wanted.is_slow):
            yield _unreached(wanted.name, ending)


def _follow(answers: TextIO, process: subprocess.Popen[bytes], limit_s: float) -> Iterator[str]:
    """Whole lines of a growing file, until the process has ended or the time is up."""
    until, rest = time.monotonic() + limit_s, ""
    while True:
        has_ended = process.poll() is not None
        *lines, rest = (rest + answers.read()).split("\n")
        yield from lines
        if has_ended or time.monotonic() > until:
            return
        time.sleep(POLL_S)


def _as_check(answer: dict[str, Any]) -> NumericsCheck:
    notes = "".join(f" ({note})" for note in answer["notes"])
    return NumericsCheck(
        name=answer["check"],
        passed=answer["fault"] is None,
        num_cases=answer["num_trials"],
        largest_error=_error(answer["largest_error"]),
        detail=(answer["fault"] or answer["question"]) + notes,
        counter_example=answer["counter_example"],
        seconds=answer["seconds"],
        growth=tuple(
            ErrorAtSize(num_elements=size, error=error, envelope=envelope)
            for size, error, envelope in answer["growth"]
        ),
    )


def _unreached(name: str, ending: str) -> NumericsCheck:
    return NumericsCheck(
        name=name,
        passed=False,
        num_cases=0,
        largest_error=unknown("not run"),
        detail=f"not run: {ending}",
    )


def _error(largest: float | None) -> Figure:
    if largest is None:
        return unknown("this check compares no values")
    if largest == float("inf"):
        return unknown("infinite or missing where it must not be")
    return known(largest)


def _environment() -> dict[str, str]:
    """This process's, with the place of this very package first on the path."""
    root = str(Path(stages.__path__[0]).parent)
    path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONPATH": path, "TORCHINDUCTOR_COMPILE_THREADS": "1"}


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """Whatever a check started goes with it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _describe_exit(status: int) -> str:
    if status < 0:
        return f"the battery was ended by {signal.Signals(-status).name}"
    return f"the battery ended with status {status}"
