"""Trials in a process of their own: what kills or stops it is a finding, and the rest goes on.

The process is forked, so that it starts in milliseconds with the operator loaded. Whoever calls
this must not have run a parallel torch operator: OpenMP does not survive a fork.
"""

import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import IO

import torch

from stages.numerics.probe import Probe
from stages.numerics.trial import REFERENCE_AT_WORK, Check, Seen, Target, Trial

MEMORY_LIMIT_BYTES = 6 * 2**30
"""Addresses that trials may take beyond those that the process began with."""
PATIENCE = 8
"""A trial may last this many times its processor time: others may hold the processor."""
POLL_S = 0.25
MOST_DEATHS = 3
"""A check in which more trials than these ended their process is given up: it has failed."""


def try_all(
    check: Check, target: Target, probes: Sequence[Probe], time_limit_s: float
) -> Iterator[Trial]:
    """One trial a probe, in order, until all are done, the time is up or too many died.

    A trial that has begun may take as long as the check allows any.
    """
    began, start, deaths = time.monotonic(), 0, 0
    while start < len(probes) and deaths < MOST_DEATHS:
        left_s = time_limit_s - (time.monotonic() - began)
        if left_s <= 0:
            return
        with _Worker(check, target, probes[start:]) as worker:
            for offset, seen in worker.results(left_s):
                yield Trial(probes[start + offset], seen, worker.has_died)
                start_next = start + offset + 1
            if not worker.has_died:
                return
            start, deaths = start_next, deaths + 1


def try_one(check: Check, target: Target, probe: Probe) -> Trial:
    """A single trial."""
    return next(try_all(check, target, [probe], check.trial_limit_s))


class _Worker:
    """A forked process that works through some probes."""

    def __init__(self, check: Check, target: Target, probes: Sequence[Probe]) -> None:
        self.check, self.target, self.probes = check, target, probes
        self.has_died = False

    def __enter__(self) -> "_Worker":
        context = multiprocessing.get_context("fork")
        self.receiver, sender = context.Pipe(duplex=False)
        self.errors: IO[bytes] = tempfile.TemporaryFile()
        self.process: BaseProcess = context.Process(target=self._work, args=(sender,))
        self.process.start()
        sender.close()
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.is_alive():
            self._end()
        self.process.join()
        self.receiver.close()
        self.errors.close()

    def results(self, time_limit_s: float) -> Iterator[tuple[int, Seen]]:
        """Index and outcome of each trial; `has_died` is set before a fatal one is given."""
        until, current = time.monotonic() + time_limit_s, 0
        while current < len(self.probes):
            if current > 0 and time.monotonic() > until:
                return
            limit = self._wait()
            if limit is not None:
                self.has_died = True
                yield current, Seen(limit or None)
                return
            try:
                seen: Seen = self.receiver.recv()
            except EOFError:
                self.process.join()
                self.has_died = True
                yield current, Seen(f"the process {self._last_words()}")
                return
            yield current, seen
            current += 1

    def _wait(self) -> str | None:
        """Until the trial has ended (None), or what it did instead; "" if it is the reference that
        takes so long. On a busy machine time passes without work: processor time counts."""
        limit_s, began = self.check.trial_limit_s, time.monotonic()
        worked_s = _processor_seconds(self.process.pid)
        while not self.receiver.poll(min(POLL_S, limit_s)):
            worked = _processor_seconds(self.process.pid) - worked_s
            waited = time.monotonic() - began
            if worked <= limit_s and waited <= PATIENCE * limit_s:
                continue
            if REFERENCE_AT_WORK[0]:
                return ""
            if worked > limit_s:
                return f"took longer than {limit_s:g} s of processor time and was ended"
            return f"stood still for {waited:.0f} s and was ended"
        return None

    def _work(self, sender: Connection) -> None:
        os.setsid()
        os.dup2(self.errors.fileno(), 2)
        os.dup2(self.errors.fileno(), 1)
        REFERENCE_AT_WORK[0] = 0
        _limit_memory(self.target.device)
        torch.set_num_threads(len(os.sched_getaffinity(0)))
        for probe in self.probes:
            sender.send(_survive(self.check, self.target, probe))
        sender.close()
        sys.stdout.flush()
        os._exit(0)  # nothing of the parent is to be torn down here

    def _end(self) -> None:
        """The process, and whatever it started."""
        try:
            os.killpg(self.process.pid or 0, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            self.process.kill()

    def _last_words(self) -> str:
        status = self.process.exitcode
        self.errors.seek(0)
        lines = self.errors.read().decode("utf-8", "replace").strip().splitlines()
        said = [line for line in lines if "what():" in line or "ERROR:" in line] or lines[-1:]
        words = f" ({' '.join(said[0].split())[:200]})" if said else ""
        if status is not None and status < 0:
            return f"died of {signal.Signals(-status).name}{words}"
        return f"ended itself with status {status}{words}"


def _survive(check: Check, target: Target, probe: Probe) -> Seen:
    """The outcome of a trial whose test may itself raise."""
    try:
        return check.test(target, probe)
    except MemoryError:
        return Seen("ran out of memory")
    except Exception as error:  # whatever an operator raises where it should answer
        return Seen(f"raised {brief(error)}")


def _processor_seconds(pid: int | None) -> float:
    """Of a process, all its threads, and its children that have ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def brief(error: BaseException, limit: int = 240) -> str:
    """Type and text of an exception on one line."""
    text = f"{type(error).__name__}: {' '.join(str(error).split())}"
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _limit_memory(device: str) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if device != "cpu":  # CUDA reserves addresses for all of its memory at once
        return
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * os.sysconf("SC_PAGE_SIZE") + MEMORY_LIMIT_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
