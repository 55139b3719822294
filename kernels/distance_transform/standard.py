"""The distance transform from standard PyTorch operators: two exact and independent ways.

Both work axis by axis on squared distances [N, D, H, W] (absent leading axes have size 1), scaled
by a power of two so that extreme spacings stay within float32. They differ in the first axis and in
how out[q] = min_p f[p] + w^2 (q - p)^2 is taken along the others.

Compiled and eager code want different loops: the compiler fuses whole reductions, which end nowhere
early; eager PyTorch has to stay within caches. There `torch.compiler.is_compiling()` decides.
"""

import math
from collections.abc import Sequence

import torch

from kernels.distance_transform.arguments import read_arguments
from kernels.operator import Composition

NUM_BLOCKED = 8
"""Results that share one load in a compiled reduction.

32 ms an axis instead of 275 without sharing, at 182x218x182 on two cores with AVX-512.
"""
NUM_OFFSETS = 8
"""Offsets between two looks at the largest distance."""
SLAB_NUMEL = 1 << 17
"""Elements that eager code works on at a time: 512 KiB, within the second-level cache."""


def by_blocked_reduction(
    mask: torch.Tensor,
    spacing: Sequence[float] | None = None,
    *,
    spatial_dims: int | None = None,
) -> torch.Tensor:
    """Running maxima along the last axis, then a full minimum over every other axis."""
    volumes, steps, scale = _read(mask, spacing, spatial_dims)
    if volumes.numel() == 0:
        return torch.zeros(mask.shape, dtype=torch.float32, device=mask.device)
    reduce = _reduce_compiled if torch.compiler.is_compiling() else _reduce_eagerly
    squared_NDHW = _scan_last(volumes, steps[2])
    squared_NHDW = reduce(squared_NDHW, steps[1])
    squared_NDHW = reduce(squared_NHDW, steps[0])
    return (squared_NDHW.sqrt() * scale).reshape(mask.shape)


def by_outward_search(
    mask: torch.Tensor,
    spacing: Sequence[float] | None = None,
    *,
    spatial_dims: int | None = None,
) -> torch.Tensor:
    """Along every axis, compare with neighbours ever farther off until none can be nearer."""
    volumes, steps, scale = _read(mask, spacing, spatial_dims)
    if volumes.numel() == 0:
        return torch.zeros(mask.shape, dtype=torch.float32, device=mask.device)
    squared = torch.where(volumes, torch.inf, 0.0)
    N, D, H, W = volumes.shape
    search = _search_compiled if torch.compiler.is_compiling() else _search_eagerly
    # While the last axis is searched, another one is last: vectors then run across lines.
    if W > 1:
        lines = squared.reshape(N * D, H, W).transpose(1, 2).contiguous()
        squared = search(lines, steps[2]).transpose(1, 2).reshape(N, D, H, W)
    if H > 1:
        squared = search(squared.reshape(N * D, H, W), steps[1]).reshape(N, D, H, W)
    if D > 1:
        rows = squared.transpose(1, 2).reshape(N * H, D, W)
        squared = search(rows, steps[0]).reshape(N, H, D, W).transpose(1, 2)
    return (squared.sqrt() * scale).reshape(mask.shape)


COMPOSITIONS = (
    Composition(
        "blocked_reduction",
        by_blocked_reduction,
        "cummax along the last axis, blocked full minimum along the others",
    ),
    Composition(
        "outward_search",
        by_outward_search,
        "running minimum over offsets, ended by the largest distance left",
    ),
)


def _read(
    mask: torch.Tensor, spacing: Sequence[float] | None, spatial_dims: int | None
) -> tuple[torch.Tensor, list[float], float]:
    """Boolean volumes [N, D, H, W], the three scaled steps, and the scale."""
    steps, dims = read_arguments(mask, spacing, spatial_dims)
    shape = [1] * (3 - dims) + list(mask.shape[mask.dim() - dims :])
    num_volumes = math.prod(mask.shape[: mask.dim() - dims])
    scale = 2.0 ** round((math.log2(min(steps)) + math.log2(max(steps))) / 2)
    scaled = [1.0] * (3 - dims) + [step / scale for step in steps]
    return (mask != 0).reshape(num_volumes, *shape), scaled, scale


def _scan_last(is_inside: torch.Tensor, step: float) -> torch.Tensor:
    """Squared distance to the nearest zero of the same row, before or behind."""
    n = is_inside.shape[-1]
    position = torch.arange(n, dtype=torch.float32, device=is_inside.device)
    before = torch.where(is_inside, -torch.inf, position).cummax(-1).values
    behind = torch.where(is_inside, -torch.inf, -position).flip(-1).cummax(-1).values.flip(-1)
    return (torch.minimum(position - before, -behind - position) * step) ** 2


def _reduce_compiled(f_NAnW: torch.Tensor, step: float) -> torch.Tensor:
    """Minimum over all p, for NUM_BLOCKED neighbouring q in one fused loop; gives [N, n, A, W].

    With n and A exchanged, the next axis lies where its reduction stays in the cache.
    """
    N, A, n, W = f_NAnW.shape
    num_blocks = (n + NUM_BLOCKED - 1) // NUM_BLOCKED
    p = torch.arange(n, dtype=torch.float32, device=f_NAnW.device)
    first = torch.arange(num_blocks, dtype=torch.float32, device=f_NAnW.device) * NUM_BLOCKED
    results = [
        (f_NAnW[:, :, None] + (((first[:, None] + k - p) * step) ** 2)[..., None]).amin(3)
        for k in range(NUM_BLOCKED)
    ]
    swapped = torch.stack([result.transpose(1, 2) for result in results], 2)
    return swapped.reshape(N, num_blocks * NUM_BLOCKED, A, W)[:, :n]


def _reduce_eagerly(f_NAnW: torch.Tensor, step: float) -> torch.Tensor:
    """Minimum over one p after the other, slab by slab; returned as [N, n, A, W]."""
    N, A, n, W = f_NAnW.shape
    position = torch.arange(n, dtype=torch.float32, device=f_NAnW.device)
    rows = f_NAnW.reshape(N * A, n, W)
    results = []
    for slab in rows.contiguous().split(_slab_rows(rows)):  # type: ignore[no-untyped-call]
        lowest = torch.full_like(slab, torch.inf)
        candidate = torch.empty_like(slab)
        for p in range(n):
            cost = ((position - p) * step) ** 2
            torch.add(slab[:, p, None], cost[:, None], out=candidate)
            torch.minimum(lowest, candidate, out=lowest)
        results.append(lowest)
    return torch.cat(results).reshape(N, A, n, W).transpose(1, 2)


def _search_compiled(f_RnW: torch.Tensor, step: float) -> torch.Tensor:
    """As `_search_eagerly`, on the whole, as a loop within the graph."""
    n = f_RnW.shape[1]
    q = torch.arange(n, device=f_RnW.device)

    def goes_on(r: torch.Tensor, lowest: torch.Tensor) -> torch.Tensor:
        return (r < n) & ((r * step) ** 2 < lowest.amax())

    def widen(r: torch.Tensor, flat: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        lowest = flat.reshape(f_RnW.shape)
        for k in range(NUM_OFFSETS):
            # Held at the ends, an index gives a candidate that is valid, though dearer than needed.
            left = f_RnW[:, (q - (r + k)).clamp(min=0)]
            right = f_RnW[:, (q + (r + k)).clamp(max=n - 1)]
            lowest = torch.minimum(lowest, torch.minimum(left, right) + ((r + k) * step) ** 2)
        return r + NUM_OFFSETS, lowest.reshape(-1)

    first = torch.ones((), dtype=torch.int64, device=f_RnW.device)
    # Flat, since what is carried must keep its strides, and axes of size 1 may have any.
    start = (first, f_RnW.clone(memory_format=torch.contiguous_format).reshape(-1))
    _, lowest = torch.while_loop(goes_on, widen, start)  # type: ignore[no-untyped-call]
    found: torch.Tensor = lowest.reshape(f_RnW.shape)
    return found


def _search_eagerly(f_RnW: torch.Tensor, step: float) -> torch.Tensor:
    """Minimum over growing offsets, slab by slab, until an offset alone exceeds every distance."""
    n = f_RnW.shape[1]
    results = []
    for slab in f_RnW.contiguous().split(_slab_rows(f_RnW)):  # type: ignore[no-untyped-call]
        lowest = slab.clone()
        candidate = torch.empty_like(slab)
        for r in range(1, n):
            cost = (r * step) ** 2
            if r % NUM_OFFSETS == 1 and cost >= lowest.amax():
                break
            for to, source in ((slice(r, n), slice(0, n - r)), (slice(0, n - r), slice(r, n))):
                torch.add(slab[:, source], cost, out=candidate[:, to])
                torch.minimum(lowest[:, to], candidate[:, to], out=lowest[:, to])
        results.append(lowest)
    return torch.cat(results)


def _slab_rows(f_RnW: torch.Tensor) -> int:
    return max(1, SLAB_NUMEL // (f_RnW.shape[1] * f_RnW.shape[2]))
