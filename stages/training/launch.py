"""Start several workers on this machine with torchrun, follow their output, leave none behind."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from stages.training.failures import first_failure

NUM_RESTARTS = 1
"""A worker that is killed is started again with all others, from the newest checkpoint."""
NUM_TAIL_LINES = 400
PATIENCE_S = 15.0
"""From SIGTERM to SIGKILL."""
_FAILURE = re.compile(r"rank\s*:\s*(\d+) \(local_rank.*?exitcode\s*:\s*(-?\d+)", re.DOTALL)
"""One worker in torchrun's summary."""


class LaunchError(RuntimeError):
    """The workers failed or took too long; the message names the first cause."""


def launch(
    module: str,
    arguments: Sequence[str],
    num_workers: int,
    failure_folder: Path,
    time_limit_s: float,
    environment: Mapping[str, str] | None = None,
    num_restarts: int = NUM_RESTARTS,
) -> None:
    """Run `module` in `num_workers` processes; returns when all have ended well.

    Each gets an equal part of the cores. Output of all is passed on to standard output. The module
    calls `failures.failures_told(failure_folder)` so that its first exception is reported here.

    Raises:
        LaunchError: a worker failed once more than `num_restarts` times, or the time limit passed.
    """
    first_failure(failure_folder).unlink(missing_ok=True)
    num_threads = max(1, (os.cpu_count() or 1) // num_workers)
    command = [
        *(sys.executable, "-m", "stages.training.tied", str(os.getpid())),
        *(sys.executable, "-m", "torch.distributed.run", "--standalone"),
        *("--nproc-per-node", str(num_workers), "--max-restarts", str(num_restarts)),
        *("-m", module, *arguments),
    ]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
        env={
            **os.environ,
            "OMP_NUM_THREADS": str(num_threads),
            "PYTHONUNBUFFERED": "1",
            # A shared store keeps the addresses of killed workers: those started again would wait
            # for them until the time limit (torch 2.13, gloo).
            "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
            **(environment or {}),
        },
    )
    tail: deque[str] = deque(maxlen=NUM_TAIL_LINES)
    reader = threading.Thread(target=_follow, args=(process, tail), daemon=True)
    reader.start()
    try:
        status = process.wait(time_limit_s)
    except subprocess.TimeoutExpired:
        raise LaunchError(
            f"{num_workers} workers of {module} took longer than {time_limit_s:.0f} s and were "
            f"stopped; their last line: {tail[-1].strip() if tail else 'none'}"
        ) from None
    finally:
        _end_group(process)
        reader.join(PATIENCE_S)
        assert process.stdout is not None
        process.stdout.close()
    if status != 0:
        raise LaunchError(
            f"{num_workers} workers of {module} failed: {_cause(failure_folder, tail, status)}"
        )


def _follow(process: subprocess.Popen[str], tail: deque[str]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        tail.append(line)
        print(line, end="", flush=True)


def _end_group(process: subprocess.Popen[str]) -> None:
    """End the launcher and its workers, politely first."""
    if process.poll() is None:
        _signal_group(process, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE_S)
    _signal_group(process, signal.SIGKILL)
    process.wait()


def _signal_group(process: subprocess.Popen[str], number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def _cause(failure_folder: Path, tail: Sequence[str], status: int) -> str:
    """What failed first.

    A worker that a signal ended could not say so, and the others met its silence: it goes first,
    unless torchrun itself ended it. Then comes a worker's own word, then torchrun's status."""
    for rank, exit_code in _FAILURE.findall("".join(tail)):
        number = -int(exit_code)
        if number > 0 and number != signal.SIGTERM:
            return f"worker {rank} was ended by {signal.Signals(number).name}"
    told = first_failure(failure_folder)
    if told.is_file():
        return told.read_text("utf-8").strip()
    return f"torchrun ended with status {status}; last line: {tail[-1].strip() if tail else 'none'}"
