"""The reading of `spacing` and `spatial_dims` that all implementations share."""

import math
from collections.abc import Sequence

import torch

MAX_SPACING_RATIO = 1e300
"""Beyond it squares leave the range of float64 whatever unit they are in."""
NO_NEAREST = -1
"""Flat index that stands for "there is none"."""


def read_arguments(
    mask: torch.Tensor, spacing: Sequence[float] | None, spatial_dims: int | None
) -> tuple[list[float], int]:
    """Fill in the defaults: every axis is spatial, every spacing is 1.

    Raises:
        ValueError: not 1 to 3 spatial axes, not one finite spacing > 0 for each, or spacings too
            far apart.
    """
    dims = mask.dim() if spatial_dims is None else spatial_dims
    if not 1 <= dims <= min(3, mask.dim()):
        raise ValueError(
            "spatial_dims must be 1, 2 or 3 and at most the number of axes, "
            f"{mask.dim()}; got {dims}"
        )
    steps = [1.0] * dims if spacing is None else [float(step) for step in spacing]
    if len(steps) != dims:
        raise ValueError(
            f"spacing must have one value for each of the {dims} spatial axes, got {len(steps)}"
        )
    for step in steps:
        if not (math.isfinite(step) and step > 0):
            raise ValueError(f"spacing must be finite and > 0, got {step}")
    if max(steps) / min(steps) > MAX_SPACING_RATIO:
        raise ValueError(
            f"the largest spacing may be {MAX_SPACING_RATIO:g} times the smallest, "
            f"got {max(steps)} and {min(steps)}"
        )
    return steps, dims


def middle_of(steps: Sequence[float]) -> float:
    """A power of two about midway between the least and the largest step: divided by it, squares
    stay in range, and no digit changes."""
    middle = (math.log2(min(steps)) + math.log2(max(steps))) / 2
    return 2.0 ** max(-1000, min(1000, round(middle)))


def check_out(mask: torch.Tensor, out: torch.Tensor) -> None:
    """Shape and dtype of `out`, as far as a graph knows them.

    Raises:
        RuntimeError: as the registered operator would.
    """
    if out.dtype != torch.float32:
        raise RuntimeError(f"distance_transform: out must be float32, got {out.dtype}")
    if out.shape != mask.shape:
        raise RuntimeError(
            "distance_transform: out must have the shape of the mask, "
            f"{tuple(mask.shape)}; got {tuple(out.shape)}"
        )
