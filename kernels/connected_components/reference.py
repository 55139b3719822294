"""The truth, readable and slow: breadth-first flood fill in plain Python."""

from collections import deque
from itertools import product
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
