"""A value combined over each voxel and its neighbours, dense, box by box.

Legend: volumes (B, D, H, W).
"""

from collections.abc import Callable
from functools import reduce
from itertools import combinations

import torch
from torch import Tensor
from torch.nn import functional

SPATIAL_AXES = (1, 2, 3)

OverBox = Callable[[Tensor, tuple[int, ...]], Tensor]
"""Combine a volume over the box of radius 1 along the given axes."""


def over_neighbours(
    volume_BDHW: Tensor,
    connectivity: int,
    over_box: OverBox,
    combine: Callable[[Tensor, Tensor], Tensor],
) -> Tensor:
    """Combine each voxel with its neighbours: boxes over every choice of `connectivity` axes.

    Axes of size 1 are left out: along them no voxel has a neighbour.
    """
    axes = tuple(axis for axis in SPATIAL_AXES if volume_BDHW.shape[axis] > 1)
    choices = combinations(axes, min(connectivity, len(axes)))
    return reduce(combine, [over_box(volume_BDHW, chosen) for chosen in choices])


def box_minimum(volume_BDHW: Tensor, axes: tuple[int, ...], outside: int) -> Tensor:
    """Minimum over the box of radius 1 along the axes; `outside` stands beyond the edges."""
    padding = [int(axis in axes) for axis in reversed(SPATIAL_AXES) for _ in range(2)]
    smallest = functional.pad(volume_BDHW, padding, value=outside)
    for axis in axes:
        size = volume_BDHW.shape[axis]
        before, here, after = (smallest.narrow(axis, start, size) for start in range(3))
        smallest = torch.minimum(torch.minimum(before, here), after)
    return smallest
