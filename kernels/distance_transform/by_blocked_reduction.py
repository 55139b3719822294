"""Second composition: scan the last axis, take the full minimum over every other one.

Independent of `by_outward_search`: no end that depends on data, and another first axis.
"""

from collections.abc import Sequence

import torch

from kernels.distance_transform.slabs import measure_sides, over_slabs
from kernels.form import wants_fused_loops

NUM_BLOCKED = 8
"""Results that share one load in a compiled reduction.

32 ms an axis instead of 275 without sharing, at 182x218x182 on two cores with AVX-512.
"""
NUM_STEPS = 16
"""Places p within one round of the interpreted loop."""


def by_blocked_reduction(
    mask: torch.Tensor,
    spacing: Sequence[float] | None = None,
    *,
    signed: bool = False,
    spatial_dims: int | None = None,
) -> torch.Tensor:
    """Running maxima along the last axis, then a full minimum over every other axis."""
    return measure_sides(_measure, mask, spacing, signed, spatial_dims)


def _measure(volumes: torch.Tensor, steps: list[float]) -> torch.Tensor:
    squared_NDHW = _scan_last(volumes, steps[2])
    squared_NHDW = _reduce(squared_NDHW, steps[1])
    return _reduce(squared_NHDW, steps[0]).sqrt()


def _scan_last(is_inside: torch.Tensor, step: float) -> torch.Tensor:
    """Squared distance to the nearest zero of the same row, before or behind."""
    n = is_inside.shape[-1]
    position = torch.arange(n, dtype=torch.float32, device=is_inside.device)
    before = torch.where(is_inside, -torch.inf, position).cummax(-1).values
    behind = torch.where(is_inside, -torch.inf, -position).flip(-1).cummax(-1).values.flip(-1)
    return (torch.minimum(position - before, -behind - position) * step) ** 2


def _reduce(f_NAnW: torch.Tensor, step: float) -> torch.Tensor:
    """out[q] = min_p f[p] + step^2 (q - p)^2 along the third axis; gives [N, n, A, W].

    With n and A exchanged, the next axis lies where its reduction stays in the cache.
    """
    if wants_fused_loops():
        return _reduce_fused(f_NAnW, step)
    N, A, n, W = f_NAnW.shape
    reduce = _reduce_traced if torch.compiler.is_compiling() else _reduce_eagerly
    lowest = over_slabs(lambda slab: reduce(slab, step), f_NAnW.reshape(N * A, n, W))
    return lowest.reshape(N, A, n, W).transpose(1, 2)


def _reduce_fused(f_NAnW: torch.Tensor, step: float) -> torch.Tensor:
    """For NUM_BLOCKED neighbouring q in one fused loop over p."""
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


def _reduce_traced(slab: torch.Tensor, step: float) -> torch.Tensor:
    """On one slab, to be interpreted: NUM_STEPS places p a round; unrolled, it exports in 30 s."""
    rows, n, W = slab.shape
    position = torch.arange(n, dtype=torch.float32, device=slab.device)
    ahead = torch.arange(NUM_STEPS, device=slab.device)

    def goes_on(p: torch.Tensor, lowest: torch.Tensor) -> torch.Tensor:
        return p < n

    def advance(p: torch.Tensor, flat: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        lowest = flat.reshape(rows, n, W)
        # Past the end, the last place once more.
        at = (p + ahead).clamp(max=n - 1)
        sources = slab.index_select(1, at)
        cost = ((position[:, None] - at) * step) ** 2
        for k in range(NUM_STEPS):
            candidate = sources[:, k, None] + cost[:, k, None]
            lowest = torch.minimum(lowest, candidate)
        return p + NUM_STEPS, lowest.reshape(-1)

    first = torch.zeros((), dtype=torch.int64, device=slab.device)
    start = (first, torch.full_like(slab, torch.inf).reshape(-1))
    _, lowest = torch.while_loop(goes_on, advance, start)  # type: ignore[no-untyped-call]
    found: torch.Tensor = lowest.reshape(rows, n, W)
    return found


def _reduce_eagerly(slab: torch.Tensor, step: float) -> torch.Tensor:
    """On one slab, one p after the other."""
    n = slab.shape[1]
    position = torch.arange(n, dtype=torch.float32, device=slab.device)
    lowest = torch.full_like(slab, torch.inf)
    candidate = torch.empty_like(slab)
    for p in range(n):
        cost = ((position - p) * step) ** 2
        torch.add(slab[:, p, None], cost[:, None], out=candidate)
        torch.minimum(lowest, candidate, out=lowest)
    return lowest
