"""What comes of one probe under one check, and what a check is."""

import mmap
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import torch

from stages.numerics.probe import Probe
from stages.numerics.promise import Promise

REFERENCE_AT_WORK = mmap.mmap(-1, 1)
"""Shared with forked processes: 1 while the reference computes; its time is not the operator's."""


@dataclass(frozen=True)
class Target:
    """The operator under test, and what it is held to."""

    call: Callable[..., Any]
    """Arguments in, result out; the registered operator or the public function."""
    promise: Promise
    name: str
    """Python expression of `call`, for counter-examples."""
    device: str = "cpu"
    schemas: tuple[str, ...] = ()
    """Names of the registered operators that `call` reaches, `namespace::name`."""
    seed: int = 0

    def answer(self, probe: Probe) -> Any:
        """The result, without gradients, on fresh arguments."""
        args, kwargs = probe.inputs()
        with torch.no_grad():
            return self.call(*args, **kwargs)

    def truth(self, probe: Probe) -> Any:
        """What the reference says; it sees plain copies."""
        args, kwargs = probe.plain()
        REFERENCE_AT_WORK[0] = 1
        try:
            return self.promise.reference(*args, **kwargs)
        finally:
            REFERENCE_AT_WORK[0] = 0


@dataclass(frozen=True)
class Seen:
    """What one trial showed."""

    fault: str | None = None
    """What is wrong; None if nothing is."""
    error: float | None = None
    """Largest difference from the truth, where values were compared."""
    envelope: float | None = None
    """The standard form's own error on the same call, where that is the measure."""


@dataclass(frozen=True)
class Trial:
    """A probe and what came of it."""

    probe: Probe
    seen: Seen
    is_death: bool = False
    """Whether the process did not survive it, or had to be ended."""


@dataclass(frozen=True)
class Check:
    """One question asked of an operator, by many probes."""

    name: str
    question: str
    """What it means to pass, in a few words."""
    probes: Callable[[Target], Iterable[Probe]]
    test: Callable[[Target, Probe], Seen]
    unasked: Callable[[Target], str | None] = lambda target: None
    """Why this operator is not asked, where it is not."""
    death: str = ""
    """What it means here when the process dies."""
    trial_limit_s: float = 30.0
    """Processor time that one trial may take; it may wait eight times as long."""
    can_shrink: bool = True
    is_slow: bool = False
    """Left out of the quick battery."""


@dataclass(frozen=True)
class Answer:
    """What a check found."""

    check: str
    question: str
    num_trials: int
    fault: str | None = None
    counter_example: str | None = None
    """Python that shows the fault on the smallest call that was found."""
    largest_error: float | None = None
    seconds: float = 0.0
    notes: tuple[str, ...] = field(default=())
    growth: tuple[tuple[int, float, float], ...] = ()
    """Number of elements, error, and error of the standard form, smallest first."""

    @property
    def has_passed(self) -> bool:
        """Whether nothing was found."""
        return self.fault is None
