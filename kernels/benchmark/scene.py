"""What is measured: a scene is one input, an entrant one way to the result, a suite has both."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import prod
from typing import Any, Literal

from kernels.benchmark.plan import Plan

Role = Literal["ours", "library", "composition", "yardstick"]
"""A yardstick computes another function: it is timed, not compared, and never the fastest peer."""
Form = Literal["eager", "exported", "compiled"]
Call = Callable[[], Any]

ALLOCATING, REUSING = "allocating", "out="


class NotApplicableError(Exception):
    """The entrant cannot do this scene; the message says why."""


@dataclass(frozen=True)
class Inputs:
    """Arguments of the operator's public function."""

    args: tuple[Any, ...]
    keywords: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Traffic:
    """Least bytes a voxel that the work must read from memory and write to it."""

    read: float
    written: float


@dataclass(frozen=True)
class Scene:
    """One input of one operator."""

    operator: str
    variant: str
    """What is asked for, such as "26 neighbours" or "signed"."""
    content: str
    """What the input shows, such as "sparse"."""
    shape: tuple[int, ...]
    make: Callable[[tuple[int, ...]], Inputs]
    """The same content in another shape; seeded. FileNotFoundError or ImportError when absent."""
    compare: Callable[[Any, Any], str | None]
    """Our result and another one -> what differs in words, None where they agree."""
    traffic: Traffic
    with_compositions: bool = False
    with_graphs: bool = False
    """Whether the compositions run as exported and compiled graphs too."""
    with_memory: bool = False

    @property
    def name(self) -> str:
        """Unique within the run; what `--only` is matched with."""
        size = "x".join(map(str, self.shape))
        return f"{self.operator} / {self.variant} / {self.content} / {size}"

    @property
    def num_voxels(self) -> int:
        """Of the whole input, batch included."""
        return prod(self.shape)


@dataclass(frozen=True)
class Entrant:
    """One way to the result."""

    name: str
    role: Role
    prepare: Callable[[Inputs], Call]
    """Import what it needs and bring the input into its form, neither of which is timed.

    ImportError: not installed. NotApplicableError: it cannot do this.
    """
    distribution: str | None = None
    """Its name on the package index."""
    output: str = ALLOCATING
    form: Form = "eager"
    uses_threads: bool = True
    """False for what runs on one thread whatever is set."""

    @property
    def key(self) -> str:
        """Unique within a scene."""
        marks = [mark for mark in (self.output, self.form) if mark not in (ALLOCATING, "eager")]
        return " ".join((self.name, *marks))


@dataclass(frozen=True)
class Suite:
    """The benchmark of one operator."""

    operator: str
    scenes: Callable[[Plan], Iterable[Scene]]
    """Small before large: what is slow on the small ones is not tried on the large ones."""
    entrants: Callable[[Scene, Plan], Iterable[Entrant]]
    """Ours first: what they return is the truth for the others."""
