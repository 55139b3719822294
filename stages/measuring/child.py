"""Run a part of a stage in a process of its own, and live on when it is killed.

The part is the stage's module called with a flag and the path of a request; it answers into a file.
"""

import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stages.contract import InputError


class ChildFailedError(RuntimeError):
    """The child gave no answer; the message names the signal, the time limit or the last line."""

    def __init__(self, message: str, is_out_of_memory: bool = False) -> None:
        super().__init__(message)
        self.is_out_of_memory = is_out_of_memory


def ask_child(
    module: str, flag: str, request: Mapping[str, Any], time_limit_s: float
) -> dict[str, Any]:
    """Run `python -m module flag FILE`; FILE holds the request, and `answer` beside it the answer.

    Raises:
        InputError: the child raised one.
        ChildFailedError: it was killed, failed, took too long, or answered nothing. Killed by
            SIGKILL counts as out of memory: nobody else sends that signal to a child of ours.
    """
    with tempfile.TemporaryDirectory(prefix="breakeven-") as name:
        file = Path(name) / "request.json"
        file.write_text(json.dumps(request), "utf-8")
        command = [sys.executable, "-m", module, flag, str(file)]
        try:
            ended = subprocess.run(
                command, capture_output=True, text=True, timeout=time_limit_s, check=False
            )
        except subprocess.TimeoutExpired:
            raise ChildFailedError(f"the child took longer than {time_limit_s:g} s") from None
        sys.stderr.write(ended.stderr)
        if ended.returncode < 0:
            name_of_signal = signal.Signals(-ended.returncode).name
            is_memory = -ended.returncode == signal.SIGKILL
            hint = ", most likely for want of memory" if is_memory else ""
            raise ChildFailedError(f"the child was killed by {name_of_signal}{hint}", is_memory)
        told = ended.stderr.rpartition(_INPUT_ERROR)
        if ended.returncode != 0 and told[1]:
            raise InputError(told[2].strip())
        if ended.returncode != 0 or not answer_path(file).is_file():
            lines = ended.stderr.strip().splitlines() or ["it printed nothing"]
            is_memory = any(mark in ended.stderr for mark in _OUT_OF_MEMORY)
            raise ChildFailedError(
                f"the child ended with status {ended.returncode}: {lines[-1]}", is_memory
            )
        answer: dict[str, Any] = json.loads(answer_path(file).read_text("utf-8"))
        return answer


def answer_path(request: Path) -> Path:
    """Where the child puts its answer."""
    return request.with_name("answer.json")


_INPUT_ERROR = f"{InputError.__module__}.{InputError.__qualname__}: "
_OUT_OF_MEMORY = ("MemoryError", "can't allocate memory", "OutOfMemoryError")
