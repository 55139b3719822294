"""Batches for libraries that know single volumes alone: one after the other."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.benchmark.scene import Call, Inputs

Volume = NDArray[np.bool_]


def volumes_of(inputs: Inputs) -> tuple[list[Volume], bool]:
    """The volumes of a mask, views of it, and whether there is a batch of them."""
    array = inputs.args[0].numpy()
    dims = inputs.keywords.get("spatial_dims", array.ndim)
    if array.ndim == dims:
        return [array], False
    return list(array.reshape(-1, *array.shape[array.ndim - dims :])), True


def touched(shape: tuple[int, ...], dtype: type[np.generic]) -> NDArray[Any]:
    """A result to be reused; zeros would be pages that are made when they are first written."""
    return np.ones(shape, dtype)


def over_volumes(inputs: Inputs, label: Callable[[Volume], Any]) -> Call:
    """Call for the volume, or for each of a batch, which gives a list."""
    volumes, is_batch = volumes_of(inputs)
    if is_batch:
        return lambda: [label(volume) for volume in volumes]
    return lambda: label(volumes[0])
