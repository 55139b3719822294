"""What becomes of a plant: copied, planted, built and examined in a process of its own.

The process is forked from one that has torch and the battery loaded and never ran a parallel
operator, so that a plant costs its build and its checks alone.
"""

import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Literal

import torch
import torch._dynamo
import torch.export
import torch.testing._internal.optests
from plant import Plant, StalePlantError
from subject import SUBJECTS

from kernels.build import BuildFailed
from stages.numerics.apart import brief
from stages.numerics.battery import BROKE, examine
from stages.numerics.checks import CHECKS
from stages.numerics.trial import Check, Target

Result = Literal["killed", "survived", "does not build", "stale", "problem", "clean", "accused"]
TIME_LIMIT_S = 1200
CHECK_LIMIT_S = 60.0


@dataclass(frozen=True)
class Job:
    """A plant to be found; or, without one, a correct operator that nothing may be found in."""

    operator: str
    plant: Plant | None = None
    seed: int = 0
    is_quick: bool = False
    """Whether slow checks are left out."""

    @property
    def id(self) -> str:
        """Unique among all."""
        return self.plant.id if self.plant is not None else f"{self.operator}, seed {self.seed}"


@dataclass(frozen=True)
class Outcome:
    """What became of it."""

    id: str
    result: Result
    check: str = ""
    """That found the fault."""
    words: str = ""
    """The finding, or what went wrong."""
    seconds: float = 0.0

    def is_fine(self, argued: Container[str]) -> bool:
        """Whether it is as it should be; `argued` holds the plants said to be equivalent."""
        is_equivalent = self.result == "survived" and self.id in argued
        return is_equivalent or self.result in ("killed", "clean", "does not build")


def judge_all(jobs: Sequence[Job], num_at_once: int) -> Iterator[tuple[Job, Outcome]]:
    """Each as soon as it is done."""
    torch.set_num_threads(1)
    context = multiprocessing.get_context("fork")
    waiting = list(reversed(jobs))
    running: dict[Connection, tuple[Job, BaseProcess]] = {}
    while waiting or running:
        while waiting and len(running) < num_at_once:
            job = waiting.pop()
            receiver, sender = context.Pipe(duplex=False)
            process: BaseProcess = context.Process(target=_work, args=(job, sender))
            process.start()
            sender.close()
            running[receiver] = (job, process)
        ready = wait(list(running))
        for receiver in [one for one in running if one in ready]:
            job, process = running.pop(receiver)
            try:
                outcome = receiver.recv()
            except EOFError:
                process.join()
                ended = f"its process ended with status {process.exitcode}"
                outcome = Outcome(job.id, "problem", words=ended)
            process.join()
            receiver.close()
            yield job, outcome


def _work(job: Job, sender: Connection) -> None:
    signal.signal(signal.SIGALRM, _give_up)
    signal.alarm(TIME_LIMIT_S)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="breakeven-mutation-") as scratch:
        log = os.open(Path(scratch) / "log", os.O_CREAT | os.O_WRONLY)
        os.dup2(log, 1)
        os.dup2(log, 2)
        result, check, words = _judge(job, Path(scratch) / SUBJECTS[job.operator].place)
    sender.send(Outcome(job.id, result, check, words, round(time.monotonic() - began, 1)))
    sender.close()
    sys.stdout.flush()
    os._exit(0)  # a planted operator may not survive the end of its process


def _give_up(*_: object) -> None:
    raise TimeoutError(f"not judged within {TIME_LIMIT_S} s")


def _judge(job: Job, folder: Path) -> tuple[Result, str, str]:
    sys.dont_write_bytecode = True
    subject = SUBJECTS[job.operator]
    subject.copy(folder)
    try:
        if job.plant is not None:
            job.plant.plant(folder)
        target = subject.open_target(folder, job.seed)
        fault = _first_fault(target, _in_order(job))
    except StalePlantError as error:
        return "stale", "", str(error)
    except BuildFailed as error:
        is_by_rule = job.plant is not None and job.plant.is_rule_made
        return ("does not build" if is_by_rule else "problem"), "", brief(error)
    except Exception as error:  # the planted operator's own code runs here
        return "problem", "", brief(error)
    if fault is None:
        return ("clean" if job.plant is None else "survived"), "", ""
    check, words = fault
    if words.startswith(BROKE):
        return "problem", check, words
    return ("accused" if job.plant is None else "killed"), check, words


def _in_order(job: Job) -> list[Check]:
    """All checks, those first that the plant names."""
    named = job.plant.checks if job.plant is not None else ()
    unknown = set(named) - {check.name for check in CHECKS}
    if unknown:
        raise ValueError(f"{job.id}: no checks of these names: {', '.join(sorted(unknown))}")
    checks = [check for check in CHECKS if not (job.is_quick and check.is_slow)]
    return sorted(checks, key=lambda check: _place(check.name, named))


def _place(name: str, named: Sequence[str]) -> int:
    return named.index(name) if name in named else len(named)


def _first_fault(target: Target, checks: Sequence[Check]) -> tuple[str, str] | None:
    for answer in examine(target, checks, CHECK_LIMIT_S):
        if answer.fault is not None:
            return answer.check, answer.fault
    return None
