"""What both compositions share: the scaled problem, its two sides, and work on pieces that stay in
the cache.

Both go axis by axis over squared distances [N, D, H, W] (absent leading axes have size 1), scaled
by a power of two so that extreme spacings stay within float32.

Legend: n places along the axis that is worked on, R times W lines along it, W of them neighbours.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._higher_order_ops.map import map as map_slabs

from kernels.distance_transform.arguments import middle_of, read_arguments

SLAB_NUMEL = 1 << 17
"""Elements worked on at a time: 512 KiB, within the second-level cache."""


def measure_sides(
    measure: Callable[[torch.Tensor, list[float]], torch.Tensor],
    mask: torch.Tensor,
    spacing: Sequence[float] | None,
    signed: bool,
    spatial_dims: int | None,
) -> torch.Tensor:
    """Apply `measure` to the volumes, and, for signed distances, to their inverse too.

    `measure` takes boolean volumes [N, D, H, W], not empty, and three scaled steps.
    """
    volumes, steps, scale = _read_volumes(mask, spacing, spatial_dims)
    if volumes.numel() == 0:
        return torch.zeros(mask.shape, dtype=torch.float32, device=mask.device)
    distances = measure(volumes, steps)
    if signed:
        distances = torch.where(volumes, distances, -measure(~volumes, steps))
    return (distances * scale).reshape(mask.shape)


def _read_volumes(
    mask: torch.Tensor, spacing: Sequence[float] | None, spatial_dims: int | None
) -> tuple[torch.Tensor, list[float], float]:
    """Boolean volumes [N, D, H, W], the three scaled steps, and the scale."""
    steps, dims = read_arguments(mask, spacing, spatial_dims)
    shape = [1] * (3 - dims) + list(mask.shape[mask.dim() - dims :])
    num_volumes = math.prod(mask.shape[: mask.dim() - dims])
    scale = middle_of(steps)
    scaled = [1.0] * (3 - dims) + [step / scale for step in steps]
    return (mask != 0).reshape(num_volumes, *shape), scaled, scale


def over_slabs(work: Callable[[torch.Tensor], torch.Tensor], f_RnW: torch.Tensor) -> torch.Tensor:
    """Apply `work` to slabs [rows, n, W] in turn, in eager mode or traced; it keeps their shape.

    Traced, `map` is a loop in the graph: an unrolled one would have a node for every slab and step.
    """
    R, n, W = f_RnW.shape
    num_rows = max(1, SLAB_NUMEL // (n * W))
    if not torch.compiler.is_compiling():
        slabs = f_RnW.contiguous().split(num_rows)  # type: ignore[no-untyped-call]
        return torch.cat([work(slab) for slab in slabs])
    num_slabs = (R + num_rows - 1) // num_rows
    num_rows = (R + num_slabs - 1) // num_slabs
    # Rows of zeros fill up the last slab; where all is zero, nothing is searched.
    filler = f_RnW.new_zeros(num_slabs * num_rows - R, n, W)
    whole = torch.cat([f_RnW, filler]) if filler.shape[0] else f_RnW.contiguous()
    # Flat, since loops must keep strides, and axes of size 1 may have any.
    flat = whole.reshape(num_slabs, num_rows * n * W)

    def work_flat(slab: Any) -> torch.Tensor:
        return work(slab.reshape(num_rows, n, W)).reshape(-1)

    found: torch.Tensor = map_slabs(work_flat, flat)  # type: ignore[arg-type]
    return found.reshape(num_slabs * num_rows, n, W)[:R]
