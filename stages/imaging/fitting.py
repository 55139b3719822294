"""Bring a case to the deployed shape and a prediction back, by padding at the end or resampling.

Voxels are cells: voxel i of n covers [i/n, (i+1)/n) of the axis, so that image and label stay in
register and a prediction comes back to where it was.
"""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from stages.contract import DataShape

Kind = TypeVar("Kind", bound=np.generic)


def fit_image(image: NDArray[np.float32], shape: DataShape) -> NDArray[np.float32]:
    """An image (C, *spatial) at `shape.case_shape`: zeros added at the end, or trilinear.

    Raises:
        ValueError: the image is larger than the case shape where it is to be padded, or has other
        axes.
    """
    _check_axes(image.shape[1:], shape)
    if shape.fit == "pad":
        return _pad(image, shape.case_shape)
    for axis, size in enumerate(shape.case_shape, start=1):
        image = _interpolate(image, axis, size)
    return np.ascontiguousarray(image)


def fit_label(label: NDArray[Kind], shape: DataShape) -> NDArray[Kind]:
    """A label (*spatial) at `shape.case_shape`: background added at the end, or the nearest voxel.

    Raises:
        ValueError: as `fit_image`.
    """
    _check_axes(label.shape, shape)
    if shape.fit == "pad":
        return _pad(label, shape.case_shape)
    return _take_nearest(label, shape.case_shape)


def unfit_label(
    label: NDArray[Kind], native_shape: tuple[int, ...], shape: DataShape
) -> NDArray[Kind]:
    """A label at `shape.case_shape` back at the shape that the case had."""
    if shape.fit == "pad":
        return np.ascontiguousarray(label[tuple(slice(size) for size in native_shape)])
    return _take_nearest(label, native_shape)


def _check_axes(spatial: tuple[int, ...], shape: DataShape) -> None:
    if len(spatial) != len(shape.case_shape):
        raise ValueError(f"expected {len(shape.case_shape)} spatial axes, got shape {spatial}")


def _pad(array: NDArray[Kind], case_shape: tuple[int, ...]) -> NDArray[Kind]:
    spatial = array.shape[array.ndim - len(case_shape) :]
    missing = [size - have for size, have in zip(case_shape, spatial, strict=True)]
    if min(missing) < 0:
        raise ValueError(
            f"a case of shape {spatial} does not fit {case_shape}, and is never cropped"
        )
    before = [(0, 0)] * (array.ndim - len(case_shape))
    return np.ascontiguousarray(np.pad(array, before + [(0, size) for size in missing]))


def _interpolate(image: NDArray[np.float32], axis: int, size: int) -> NDArray[np.float32]:
    """Linear along one axis; beyond the outermost centres the edge value holds."""
    have = image.shape[axis]
    if have == size:
        return image
    position = np.clip((np.arange(size) + 0.5) * have / size - 0.5, 0, have - 1)
    below = np.floor(position).astype(np.int64)
    above = np.minimum(below + 1, have - 1)
    weight = (position - below).astype(np.float32)
    weight = weight.reshape([-1 if i == axis else 1 for i in range(image.ndim)])
    low = np.take(image, below, axis)
    mixed: NDArray[np.float32] = low + weight * (np.take(image, above, axis) - low)
    return mixed


def _take_nearest(label: NDArray[Kind], target: tuple[int, ...]) -> NDArray[Kind]:
    result: Any = label
    for axis, size in enumerate(target):
        have = label.shape[axis]
        index = np.minimum(((np.arange(size) + 0.5) * have / size).astype(np.int64), have - 1)
        result = np.take(result, index, axis)
    fitted: NDArray[Kind] = np.ascontiguousarray(result)
    return fitted
