"""The truth: the definition in float64, one axis after the other."""

from collections.abc import Sequence

import torch

from kernels.distance_transform.arguments import NO_NEAREST, middle_of, read_arguments


def reference(
    mask: torch.Tensor,
    spacing: Sequence[float] | None = None,
    *,
    signed: bool = False,
    return_nearest: bool = False,
    spatial_dims: int | None = None,
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    """Distance of every nonzero voxel to the nearest zero voxel: float64, of the mask's shape.

    Squared distances add up over the axes, so that the nearest zero can be sought along one axis
    after the other: out[q] = min_p f[p] + (w (q - p))^2, of equal ones the first p. Arguments,
    options and errors are those of `op.py`.
    """
    steps, dims = read_arguments(mask, spacing, spatial_dims)
    is_inside = mask != 0
    distances, nearest = _to_nearest(~is_inside, steps, dims)
    if signed:
        outside, nearest_inside = _to_nearest(is_inside, steps, dims)
        distances = torch.where(is_inside, distances, -outside)
        nearest = torch.where(is_inside, nearest, nearest_inside)
    return (distances, nearest) if return_nearest else distances


def _to_nearest(
    is_site: torch.Tensor, steps: list[float], dims: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Distance to the nearest site of the same volume and its flat index; inf and -1 without."""
    squared = torch.zeros(is_site.shape, dtype=torch.float64, device=is_site.device)
    squared = squared.masked_fill(~is_site, torch.inf)
    num_voxels = is_site.shape[is_site.dim() - dims :].numel()
    flat = torch.arange(num_voxels, device=is_site.device)
    nearest = flat.reshape(is_site.shape[is_site.dim() - dims :]).expand(is_site.shape)
    # Squares of extreme spacings would leave the range of float64; a power of two rounds nothing.
    unit = middle_of(steps)
    for axis, step in reversed(list(enumerate(steps, is_site.dim() - dims))):
        squared, nearest = _nearest_along(squared, nearest, axis, step / unit)
    return squared.sqrt() * unit, nearest.masked_fill(squared == torch.inf, NO_NEAREST)


def _nearest_along(
    squared: torch.Tensor, nearest: torch.Tensor, axis: int, step: float
) -> tuple[torch.Tensor, torch.Tensor]:
    lines, of_lines = squared.movedim(axis, -1), nearest.movedim(axis, -1)
    place = torch.arange(lines.shape[-1], dtype=torch.float64, device=lines.device)
    lowest, at = torch.empty_like(lines), torch.empty_like(of_lines)
    for q in range(lines.shape[-1]):
        candidates = lines + ((place - q) * step) ** 2
        first = candidates.argmin(-1, keepdim=True)  # the first of equal ones
        lowest[..., q] = candidates.gather(-1, first)[..., 0]
        at[..., q] = of_lines.gather(-1, first)[..., 0]
    return lowest.movedim(-1, axis), at.movedim(-1, axis)
