"""Best composition: along every axis, look ever farther outward until nothing can be nearer."""

import math
from collections.abc import Sequence
from typing import Any

import torch

from kernels.distance_transform.slabs import measure_sides, over_slabs
from kernels.form import wants_fused_loops

NUM_OFFSETS = 8
"""Offsets between two looks at the largest distance."""


def by_outward_search(
    mask: torch.Tensor,
    spacing: Sequence[float] | None = None,
    *,
    signed: bool = False,
    spatial_dims: int | None = None,
) -> torch.Tensor:
    """Along every axis, compare with neighbours ever farther off until none can be nearer."""
    return measure_sides(_measure, mask, spacing, signed, spatial_dims)


def _measure(volumes: torch.Tensor, steps: list[float]) -> torch.Tensor:
    squared = torch.where(volumes, torch.inf, 0.0)
    N, D, H, W = volumes.shape
    # While the last axis is searched, another one is last: vectors then run across lines.
    if W > 1:
        lines = squared.reshape(N * D, H, W).transpose(1, 2).contiguous()
        squared = _search(lines, steps[2]).transpose(1, 2).reshape(N, D, H, W)
    if H > 1:
        squared = _search(squared.reshape(N * D, H, W), steps[1]).reshape(N, D, H, W)
    if D > 1:
        rows = squared.transpose(1, 2).reshape(N * H, D, W)
        squared = _search(rows, steps[0]).reshape(N, H, D, W).transpose(1, 2)
    return squared.sqrt()


def _search(f_RnW: torch.Tensor, step: float) -> torch.Tensor:
    """out[q] = min_p f[p] + step^2 (q - p)^2 along the middle axis."""
    if wants_fused_loops():
        return _search_fused(f_RnW, step)
    search = _search_traced if torch.compiler.is_compiling() else _search_eagerly
    return over_slabs(lambda slab: search(slab, step), f_RnW)


def _search_fused(f_RnW: torch.Tensor, step: float) -> torch.Tensor:
    """On the whole, by index: the compiler reads each candidate where it is."""
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


def _search_traced(slab: torch.Tensor, step: float) -> torch.Tensor:
    """On one slab, to be interpreted: shifted views of the slab between walls copy nothing.

    Export with strict=False, the default: torch 2.13 traces `item` in a loop strictly too, but
    cannot save the program.
    """
    rows, n, W = slab.shape
    margin = n + NUM_OFFSETS
    wall = slab.new_full((rows, margin, W), math.inf)
    padded = torch.cat([wall, slab, wall], 1)

    def goes_on(r: torch.Tensor, lowest: torch.Tensor) -> torch.Tensor:
        return (r < n) & ((r.double() * step) ** 2 < lowest.amax())

    def widen(r: torch.Tensor, flat: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        lowest = flat.reshape(rows, n, W)
        offset: Any = r.item()
        # What `goes_on` grants, told to the tracer; the views need it.
        torch._check(offset >= 0)  # type: ignore[no-untyped-call]
        torch._check(offset <= n)  # type: ignore[no-untyped-call]
        for k in range(NUM_OFFSETS):
            left = padded.narrow(1, margin - offset - k, n)
            right = padded.narrow(1, margin + offset + k, n)
            lowest = torch.minimum(
                lowest, torch.minimum(left, right).add_(((offset + k) * step) ** 2)
            )
        return r + NUM_OFFSETS, lowest.reshape(-1)

    first = torch.ones((), dtype=torch.int64, device=slab.device)
    start = (first, slab.reshape(-1).clone())
    _, lowest = torch.while_loop(goes_on, widen, start)  # type: ignore[no-untyped-call]
    found: torch.Tensor = lowest.reshape(rows, n, W)
    return found


def _search_eagerly(slab: torch.Tensor, step: float) -> torch.Tensor:
    """On one slab, until an offset alone exceeds every distance in it."""
    n = slab.shape[1]
    lowest = slab.clone()
    candidate = torch.empty_like(slab)
    for r in range(1, n):
        cost = (r * step) ** 2
        if r % NUM_OFFSETS == 1 and cost >= lowest.amax():
            break
        for to, source in ((slice(r, n), slice(0, n - r)), (slice(0, n - r), slice(r, n))):
            torch.add(slab[:, source], cost, out=candidate[:, to])
            torch.minimum(lowest[:, to], candidate[:, to], out=lowest[:, to])
    return lowest
