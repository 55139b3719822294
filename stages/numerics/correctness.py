"""Is an implementation right on all of the operator's named cases?"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from kernels.folder import OperatorFolder
from kernels.operator import takes_options
from stages.contract import Figure, known, unknown
from stages.numerics.comparison import (
    Inputs,
    by_size,
    compare,
    first_tensor,
    map_tensors,
    tolerance_for,
)

Implementation = Callable[..., Any]


@dataclass(frozen=True)
class Truth:
    """One case and what the float64 reference says."""

    name: str
    inputs: Inputs
    result: Any


@dataclass(frozen=True)
class Correctness:
    """What the cases say about one implementation."""

    is_right: bool | None
    """None when the time was up before a case failed or all had passed."""
    largest_error: Figure
    detail: str
    """Which case failed first, the smallest one, and how; or what was covered."""


def find_truths(operator: OperatorFolder, time_limit_s: float) -> tuple[Truth, ...]:
    """What the reference says on the named cases, smallest first, until the time is up."""
    reference, started, truths = operator.reference, time.monotonic(), []
    for case, inputs in by_size(operator.cases):
        if time.monotonic() - started > time_limit_s:
            break
        truths.append(Truth(case.name, inputs, reference(*inputs[0], **inputs[1])))
    return tuple(truths)


def check_correctness(
    implementation: Implementation,
    operator: OperatorFolder,
    truths: Sequence[Truth],
    device: str,
    time_limit_s: float,
) -> Correctness:
    """Compare an implementation with the truths, smallest case first, until one fails.

    A case with an option that the implementation does not take is left out. An implementation
    that raises is wrong on that case: what it raised is the detail. When the time is up after at
    least half of the cases, those are enough here; the detail says how many they were.
    """
    largest, started = 0.0, time.monotonic()
    truths = [truth for truth in truths if takes_options(implementation, truth.inputs[1])]
    for number, truth in enumerate(truths):
        if time.monotonic() - started > time_limit_s:
            detail = f"right on the {number} smallest of {len(truths)} cases, then the time was up"
            is_enough = True if 2 * number >= len(truths) else None
            return Correctness(is_enough, known(largest, num_samples=number), detail)
        args, kwargs = map_tensors(lambda tensor: tensor.to(device), truth.inputs)
        try:
            with torch.no_grad():
                result = implementation(*args, **kwargs)
        except Exception as error:  # whatever a foreign implementation raises is a finding
            detail = (
                f"case {truth.name}: {type(error).__name__}: {' '.join(str(error).split())[:200]}"
            )
            return Correctness(False, unknown(detail), detail)
        tolerance = tolerance_for(operator.spec.tolerances, truth.inputs)
        difference = compare(result, truth.result, tolerance)
        if not difference.is_within:
            detail = f"case {truth.name}: {difference.detail}"
            return Correctness(False, _error_figure(difference.largest, number + 1), detail)
        largest = max(largest, difference.largest)
    if not truths:
        return Correctness(None, unknown("the operator names no cases for it"), "no cases")
    detail = f"right on all {len(truths)} cases"
    return Correctness(True, known(largest, num_samples=len(truths)), detail)


def find_right_implementation(
    operator: OperatorFolder, truths: Sequence[Truth], device: str, time_limit_s: float = 12.0
) -> Implementation:
    """The first that is right, of the libraries, then the compositions; the reference if none is.

    A library without a gradient is passed over where the operator has one.
    """
    for library in operator.libraries:
        if operator.spec.is_differentiable and not library.is_differentiable:
            continue
        try:
            adapter = library.load()
        except ImportError:
            continue
        if check_correctness(adapter, operator, truths, device, time_limit_s).is_right:
            return adapter
    for composition in operator.compositions:
        if check_correctness(composition.call, operator, truths, device, time_limit_s).is_right:
            return composition.call
    return operator.reference


def is_differentiable(implementation: Implementation, truths: Sequence[Truth], device: str) -> bool:
    """Whether a finite gradient reaches the first argument, on the smallest case that has
    voxels."""
    for truth in truths:
        is_served = takes_options(implementation, truth.inputs[1])
        if not is_served or first_tensor(truth.inputs).numel() < 2:
            continue
        args, kwargs = map_tensors(lambda tensor: tensor.to(device), truth.inputs)
        first = args[0].detach().clone().requires_grad_()
        try:
            output = implementation(first, *args[1:], **kwargs)
            (gradient,) = torch.autograd.grad(output.sum(), first)
        except Exception:  # NumPy round trips raise RuntimeError, others what they like
            return False
        return bool(gradient.isfinite().all())
    return False


def _error_figure(largest: float, num_cases: int) -> Figure:
    if largest == float("inf"):
        return unknown("a value is infinite or missing where the truth is not, or the other way")
    return known(largest, num_samples=num_cases)
