"""The truth: the definition in float64, one axis after the other."""

from collections.abc import Sequence

import torch

from kernels.distance_transform.arguments import read_arguments


def reference(
    mask: torch.Tensor,
    spacing: Sequence[float] | None = None,
    *,
    spatial_dims: int | None = None,
) -> torch.Tensor:
    """Distance of every nonzero voxel to the nearest zero voxel: float64, of the mask's shape.

    Squared distances add up over the axes, so that the nearest zero can be sought along one axis
    after the other: out[q] = min_p f[p] + (w (q - p))^2. Arguments and errors are those of `op.py`.
    """
    steps, dims = read_arguments(mask, spacing, spatial_dims)
    squared = torch.zeros(mask.shape, dtype=torch.float64, device=mask.device)
    squared = squared.masked_fill(mask != 0, torch.inf)
    # Squares of extreme spacings would leave the range of float64.
    unit = max(steps)
    for axis, step in zip(range(mask.dim() - dims, mask.dim()), steps, strict=True):
        squared = _nearest_along(squared, axis, step / unit)
    return squared.sqrt() * unit


def _nearest_along(squared: torch.Tensor, axis: int, step: float) -> torch.Tensor:
    lines = squared.movedim(axis, -1)
    position = torch.arange(lines.shape[-1], dtype=torch.float64, device=lines.device) * step
    nearest = torch.empty_like(lines)
    for q in range(lines.shape[-1]):
        nearest[..., q] = (lines + (position - position[q]) ** 2).amin(-1)
    return nearest.movedim(-1, axis)
