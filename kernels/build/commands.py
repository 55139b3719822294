"""Run compilers side by side, within one time limit, and leave none of them behind."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

Command = tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """One command that ran to its end."""

    command: Command
    status: int
    """Exit status; negative for the signal that ended it."""
    output: str
    """All that it said, in English."""


def usable_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0))


def run_together(commands: Sequence[Command], deadline: float) -> tuple[Outcome, ...]:
    """Run commands, as many at once as there are usable cores, and each to its end.

    One that fails does not stop the others: the reader wants the errors of every source.

    Args:
        commands: in the order of the outcomes.
        deadline: by `time.monotonic()`.

    Raises:
        TimeoutError: the deadline passed; every command was ended.
    """
    running: set[subprocess.Popen[str]] = set()
    is_stopped = threading.Event()

    def run(command: Command) -> Outcome | None:
        if is_stopped.is_set():
            return None
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env={**os.environ, "LC_ALL": "C"},
            start_new_session=True,
        )
        running.add(process)
        try:
            output, _ = process.communicate(timeout=max(deadline - time.monotonic(), 0))
        except subprocess.TimeoutExpired:
            is_stopped.set()
            _end_group(process)
            process.communicate()
            return None
        finally:
            running.discard(process)
        return Outcome(command, process.returncode, output)

    with ThreadPoolExecutor(usable_cores()) as pool:
        try:
            outcomes = list(pool.map(run, commands))
        finally:  # an interrupt too has to end what runs, or the pool would wait for it
            is_stopped.set()
            for process in tuple(running):
                _end_group(process)
    finished = tuple(outcome for outcome in outcomes if outcome is not None)
    if len(finished) < len(commands):
        raise TimeoutError("the deadline passed")
    return finished


def _end_group(process: subprocess.Popen[str]) -> None:
    """The compiler's driver has children, which hold the pipe: the whole group has to go."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
