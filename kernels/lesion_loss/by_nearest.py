"""Voronoi regions from standard operators: the number of the nearest lesion voxel of each voxel."""

from collections.abc import Sequence

import torch
from torch import Tensor

MAX_CANDIDATES = 2**22
"""Elements of the table of candidates that is held at once: 32 MiB of float64."""


def voronoi_regions(target: Tensor, spacing: Sequence[float] | None) -> Tensor:
    """Regions of the target's shape and dtype; 0 throughout a sample without lesions.

    Exact, and as `reference.py` defines them: the least squared distance along one axis after the
    other, and the first place in memory that has it. Its work is the sum of the sizes for each
    voxel.
    """
    labels = target.flatten(1)
    steps = spacing if spacing is not None else (1.0,) * (target.ndim - 2)
    squared = torch.zeros(target.shape, dtype=torch.float64, device=target.device)
    squared = squared.masked_fill(target == 0, torch.inf)
    place = torch.arange(labels.shape[1], device=target.device).view(1, *target.shape[1:])
    place = place.expand(target.shape)
    for axis, step in enumerate(steps, start=2):
        squared, place = _nearest_along(squared, place, axis, step)
    return labels.gather(1, place.flatten(1)).view(target.shape)


def _nearest_along(squared: Tensor, place: Tensor, axis: int, step: float) -> tuple[Tensor, Tensor]:
    lines, places = squared.movedim(axis, -1), place.movedim(axis, -1)
    size = lines.shape[-1]
    if not lines.numel():
        return squared, place
    position = torch.arange(size, dtype=torch.float64, device=lines.device) * step
    num_at_once = max(MAX_CANDIDATES // lines.numel(), 1)
    least, first = [], []
    for here in torch.split(position, num_at_once):
        candidates = lines[..., None, :] + (position - here[:, None]) ** 2
        best = candidates.amin(-1, keepdim=True)
        last = torch.iinfo(torch.int64).max
        first.append(torch.where(candidates == best, places[..., None, :], last).amin(-1))
        least.append(best.squeeze(-1))
    return torch.cat(least, -1).movedim(-1, axis), torch.cat(first, -1).movedim(-1, axis)
