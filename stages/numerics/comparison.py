"""Compare a result with the truth, under the tolerance that the operator's spec states."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.utils._pytree import tree_flatten, tree_map

from kernels.operator import Tolerance

Inputs = tuple[tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True)
class Difference:
    """How far a result is from the truth."""

    is_within: bool
    largest: float
    """Largest |result - truth| / max(1, |truth|): absolute for small values, relative for large
    ones; infinite where one of the two is not finite and the other differs."""
    detail: str
    """What differs; empty when nothing does."""


def compare(result: Any, truth: Any, tolerance: Tolerance) -> Difference:
    """Compare tensor by tensor, element by element, in float64; equal infinities and NaNs agree."""
    results, truths = tree_flatten(result)[0], tree_flatten(truth)[0]
    if len(results) != len(truths):
        return Difference(False, float("inf"), f"{len(results)} results instead of {len(truths)}")
    worst = Difference(True, 0.0, "")
    for one, other in zip(results, truths, strict=True):
        found = _compare_arrays(_as_array(one), _as_array(other), tolerance)
        if found.largest > worst.largest or (worst.is_within and not found.is_within):
            worst = found
    return worst


def tolerance_for(tolerances: Mapping[str, Tolerance], inputs: Inputs) -> Tolerance:
    """The tolerance for the dtype of the first argument."""
    name = str(first_tensor(inputs).dtype).removeprefix("torch.")
    return tolerances[name] if name in tolerances else tolerances["default"]


def first_tensor(inputs: Inputs) -> torch.Tensor:
    """The first tensor among the inputs.

    Raises:
        ValueError: there is none.
    """
    for leaf in tree_flatten(inputs)[0]:
        if isinstance(leaf, torch.Tensor):
            return leaf
    raise ValueError("expected a tensor among the operator's inputs, found none")


def map_tensors(change: Callable[[torch.Tensor], Any], inputs: Any) -> Any:
    """The same structure with every tensor changed."""
    return tree_map(lambda leaf: change(leaf) if isinstance(leaf, torch.Tensor) else leaf, inputs)


def tensors(tree: Any) -> list[torch.Tensor]:
    """All tensors of a structure, in order."""
    return [leaf for leaf in tree_flatten(tree)[0] if isinstance(leaf, torch.Tensor)]


def are_same_bits(one: Any, other: Any) -> bool:
    """Whether two results have the same dtypes, shapes and bits."""
    ones, others = tensors(one), tensors(other)
    return len(ones) == len(others) and all(
        a.dtype == b.dtype and a.shape == b.shape and _bits(a) == _bits(b)
        for a, b in zip(ones, others, strict=True)
    )


def describe(inputs: Inputs) -> str:
    """Shape and dtype of the first tensor, for messages."""
    tensor = first_tensor(inputs)
    return f"{tuple(tensor.shape)} {str(tensor.dtype).removeprefix('torch.')}"


def by_size(cases: Sequence[Any]) -> list[tuple[Any, Inputs]]:
    """Cases with fresh inputs, smallest first, so that the first that fails is the smallest."""
    made = [(case, case.make()) for case in cases]
    return sorted(made, key=lambda pair: first_tensor(pair[1]).numel())


def _compare_arrays(result: Any, truth: Any, tolerance: Tolerance) -> Difference:
    if result.shape != truth.shape:
        detail = f"shape {tuple(result.shape)} instead of {tuple(truth.shape)}"
        return Difference(False, float("inf"), detail)
    if not truth.size:
        return Difference(True, 0.0, "")
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(result - truth)
        bound = tolerance.absolute + tolerance.relative * np.abs(truth)
    agrees = (result == truth) | (np.isnan(result) & np.isnan(truth))
    error = np.where(agrees, 0.0, np.where(np.isfinite(error), error, np.inf))
    wrong = error > np.where(np.isfinite(bound), bound, 0.0)
    scaled = error / np.where(np.isfinite(truth), np.maximum(np.abs(truth), 1.0), 1.0)
    worst = np.unravel_index(int(np.argmax(scaled)), scaled.shape)
    detail = ""
    if wrong.any():
        where = tuple(int(axis) for axis in worst)
        detail = (
            f"{int(wrong.sum())} of {wrong.size} values beyond the tolerance, worst at {where}: "
            f"{result[worst]:.9g} instead of {truth[worst]:.9g}"
        )
    return Difference(not wrong.any(), float(scaled[worst]), detail)


def _as_array(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().cpu().to(torch.float64).numpy()
    return np.asarray(value, np.float64)


def _bits(tensor: torch.Tensor) -> bytes:
    if not tensor.numel():  # whose strides may be anything, which a view as bytes refuses
        return b""
    return tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
