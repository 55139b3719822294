"""What an operator promises, whoever wrote it: all that the battery holds it to."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from kernels.operator import Tolerance
from stages.numerics.probe import Probe

Implementation = Callable[..., Any]


@dataclass(frozen=True)
class Promise:
    """The contract of one operator."""

    reference: Implementation
    """The float64 truth; raises where the operator has to refuse."""
    probes: Sequence[Probe]
    """Calls that it must answer, of every size, dtype and kind of value; smallest first."""
    tolerance: Callable[[Probe], Tolerance]
    """How far from the truth a result may be."""
    refused: Sequence[Probe] = ()
    """Calls that it must refuse by an exception."""
    empty: Sequence[Probe] = ()
    """Calls without elements; answered as the reference answers, or refused where it refuses."""
    special: Sequence[Probe] = ()
    """Calls with NaN and infinities; likewise."""
    stress: Sequence[Probe] = ()
    """Large calls: many components, long lines, sizes where sums lose digits."""
    huge: Sequence[Probe] = ()
    """Calls of tens of millions of elements, which are made once."""
    gradient: Sequence[Probe] = ()
    """float64 calls whose floating tensors all take a gradient; small ones first."""
    is_twice_differentiable: bool | None = None
    """None where it has no gradient at all; False where it must say so, rather than be wrong."""
    may_refuse_twice: bool = False
    """Whether a twice differentiable operator may raise instead; never be wrong."""
    gradient_places: tuple[int, ...] | None = None
    """Which of the floating tensors take a gradient; None for all of them."""
    has_steady_bits: bool = True
    """Whether results have the same bits on any number of threads, rather than the same value to
    within the tolerance."""
    has_steady_gradient: bool = False
    """Whether gradients, too, have the same bits on any number of threads."""
    claims_no_gradient: bool = False
    """Whether a result that requires a gradient would be a fault."""
    has_batching_rule: bool = False
    """Whether vmap is declared to work."""
    result_dtypes: Callable[[Probe], tuple[torch.dtype, ...]] | None = None
    """Dtypes of the results, where the contract states them."""
    orders: Mapping[str, Implementation] = field(default_factory=dict)
    """Standard implementations in the operator's own precision, by their order of summation: the
    largest of their errors is the envelope in which the operator's error has to lie."""
    sized: Callable[[int], Probe] | None = None
    """A call with about so many elements, for the growth of the error with size."""
    job: Sequence[Probe] = ()
    """Calls of the size that the real job has."""
    stand_in: Implementation | None = None
    """What stands in for the reference at that size, where the reference would take minutes: a
    standard form that is right on small calls."""
    sizes: Sequence[int] = tuple(4**power for power in range(3, 12))
    """Numbers of elements for which that is asked."""


def promised_dtypes(promise: Promise, probe: Probe) -> tuple[torch.dtype, ...] | None:
    """Dtypes that the contract states for this call; None where it states none."""
    return None if promise.result_dtypes is None else promise.result_dtypes(probe)


def with_recipes(promise: Promise, source: str) -> Promise:
    """The same promise, its probes told by where they come from.

    `source` is Python, lines of which the last binds `promise`.
    """
    told: dict[str, tuple[Probe, ...]] = {}
    for name in ("probes", "empty", "special", "stress", "huge", "gradient"):
        probes: Sequence[Probe] = getattr(promise, name)
        told[name] = tuple(
            replace(probe, recipe=f"{source}\nargs, kwargs = promise.{name}[{index}].inputs()")
            for index, probe in enumerate(probes)
        )
    return replace(promise, **told)  # type: ignore[arg-type]
