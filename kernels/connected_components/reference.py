"""The truth, readable and slow: breadth-first flood fill in plain Python, and measures of it."""

from collections import deque
from collections.abc import Sequence
from itertools import product
from math import fsum, prod
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kernels.connected_components.arguments import prepare


def reference(
    mask: Tensor, connectivity: int | None = None, *, spatial_dims: int | None = None
) -> Tensor:
    """Label the connected components of a mask; arguments, result and errors as in `op.py`."""
    arguments = prepare(mask, connectivity, spatial_dims)
    volumes = arguments.foreground.cpu().numpy()
    labels = torch.zeros(volumes.shape, dtype=arguments.labels_dtype).numpy()
    for volume, filled in zip(volumes, labels, strict=True):
        _label(volume, filled, arguments.connectivity)
    return torch.from_numpy(labels).reshape(mask.shape).to(mask.device)


def reference_count(
    mask: Tensor, connectivity: int | None = None, *, spatial_dims: int | None = None
) -> Tensor:
    """Count the components of each volume; arguments, result and errors as in `op.py`."""
    arguments = prepare(mask, connectivity, spatial_dims)
    labels = reference(mask, connectivity, spatial_dims=spatial_dims)
    batch = mask.shape[: mask.ndim - arguments.spatial_dims]
    if labels.numel() == 0:
        return torch.zeros(batch, dtype=torch.int64, device=mask.device)
    counts = [max(volume) for volume in labels.reshape(prod(batch), -1).tolist()]
    return torch.tensor(counts, dtype=torch.int64, device=mask.device).reshape(batch)


def reference_table(
    mask: Tensor,
    values: Sequence[Tensor] | None = None,
    connectivity: int | None = None,
    *,
    spatial_dims: int | None = None,
) -> tuple[Tensor, ...]:
    """Measure every component; arguments, result and errors as in `measuring.py`.

    Sums are exact and rounded once.
    """
    spatial = prepare(mask, connectivity, spatial_dims).spatial_dims
    labels = reference(mask, connectivity, spatial_dims=spatial_dims)
    shape = labels.shape[labels.ndim - spatial :]
    volumes = labels.reshape(-1, *shape) if labels.numel() else labels.new_zeros((0, *shape))
    measured = [value.double().reshape(volumes.shape) for value in values or ()]
    rows: list[tuple[Any, ...]] = []
    for index, volume in enumerate(volumes):
        for label in range(1, int(volume.max()) + 1):
            places = (volume == label).nonzero()
            found = [value[index][volume == label].tolist() for value in measured]
            box = torch.stack((places.amin(0), places.amax(0) + 1), dim=1)
            centroid = places.sum(0).double() / len(places)
            minima = [min(value) for value in found]
            rows.append((index, len(places), box, centroid, list(map(fsum, found)), minima))
    num_values = len(measured)
    columns: list[list[Any]] = [list(column) for column in zip(*rows, strict=True)] or [[]] * 6
    return (
        torch.tensor(columns[0], dtype=torch.int64),
        torch.tensor(columns[1], dtype=torch.int64),
        torch.stack(columns[2]) if rows else torch.zeros((0, spatial, 2), dtype=torch.int64),
        torch.stack(columns[3]) if rows else torch.zeros((0, spatial), dtype=torch.float64),
        torch.tensor(columns[4], dtype=torch.float64).reshape(len(rows), num_values),
        torch.tensor(columns[5], dtype=torch.float64).reshape(len(rows), num_values),
    )


def _label(volume: NDArray[np.bool_], labels: NDArray[Any], connectivity: int) -> None:
    """Fill `labels` (D, H, W), zero on entry, from one volume."""
    offsets = neighbour_offsets(connectivity)
    label = 0
    for seed in map(tuple, np.argwhere(volume)):
        if labels[seed]:
            continue
        label += 1
        labels[seed] = label
        waiting: deque[tuple[Any, ...]] = deque([seed])
        while waiting:
            voxel = waiting.popleft()
            for offset in offsets:
                near = tuple(a + b for a, b in zip(voxel, offset, strict=True))
                inside = all(0 <= a < size for a, size in zip(near, volume.shape, strict=True))
                if inside and volume[near] and not labels[near]:
                    labels[near] = label
                    waiting.append(near)


def neighbour_offsets(connectivity: int) -> list[tuple[int, int, int]]:
    """Offsets (z, y, x) of the 6, 18 or 26 neighbours at connectivity 1, 2 or 3."""
    return [
        (dz, dy, dx)
        for dz, dy, dx in product((-1, 0, 1), repeat=3)
        if 1 <= abs(dz) + abs(dy) + abs(dx) <= connectivity
    ]
