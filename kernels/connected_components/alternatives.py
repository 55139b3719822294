"""Adapters for open-source libraries that label components; each goes through NumPy, on the CPU."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kernels.connected_components.arguments import prepare
from kernels.operator import Implementation, Library

LabelVolume = Callable[[NDArray[np.bool_], int], NDArray[Any]]
"""Foreground (D, H, W) and connectivity in, labels in any order out."""


def canonical(labels: NDArray[Any], dtype: Any = np.int32) -> NDArray[Any]:
    """Renumber labels in raster order of each component's first voxel; 0 stays 0."""
    flat = labels.ravel()
    positions = np.flatnonzero(flat)
    values = flat[positions]
    num_labels = int(values.max(initial=0))
    first = np.full(num_labels + 1, flat.size, dtype=np.int64)
    first[values[::-1]] = positions[::-1]
    numbers = np.zeros(num_labels + 1, dtype=dtype)
    order = np.argsort(first[1:], kind="stable")
    if np.array_equal(order, np.arange(num_labels)):
        return labels.astype(dtype, copy=False)
    numbers[1:][order] = np.arange(1, num_labels + 1, dtype=dtype)
    renumbered: NDArray[Any] = numbers[labels]
    return renumbered


def _adapt(label_volume: LabelVolume) -> Implementation:
    """Give a library's function the signature of the operator."""

    def call(
        mask: Tensor, connectivity: int | None = None, *, spatial_dims: int | None = None
    ) -> Tensor:
        arguments = prepare(mask, connectivity, spatial_dims)
        volumes = arguments.foreground.cpu().numpy()
        labels = torch.zeros(volumes.shape, dtype=arguments.labels_dtype).numpy()
        if volumes.size:
            for volume, filled in zip(volumes, labels, strict=True):
                found = label_volume(volume, arguments.connectivity)
                filled[...] = canonical(found, labels.dtype)
        return torch.from_numpy(labels).reshape(mask.shape).to(mask.device)

    return call


def _load_scipy() -> Implementation:
    from scipy import ndimage

    def label_volume(volume: NDArray[np.bool_], connectivity: int) -> NDArray[Any]:
        structure = ndimage.generate_binary_structure(3, connectivity)
        labels: NDArray[Any] = ndimage.label(volume, structure=structure)[0]
        return labels

    return _adapt(label_volume)


def _load_cc3d() -> Implementation:
    import cc3d

    neighbours = {1: 6, 2: 18, 3: 26}

    def label_volume(volume: NDArray[np.bool_], connectivity: int) -> NDArray[Any]:
        labels: NDArray[Any] = cc3d.connected_components(
            volume, connectivity=neighbours[connectivity]
        )
        return labels

    return _adapt(label_volume)


LIBRARIES = (
    Library(
        name="scipy.ndimage.label",
        distribution="scipy",
        licence="BSD-3-Clause",
        load=_load_scipy,
    ),
    Library(
        name="cc3d",
        distribution="connected-components-3d",
        licence="LGPL-3.0-or-later",
        load=_load_cc3d,
    ),
)
