"""Read a case: image and label as every stage sees them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stages.contract import Case, InputError
from stages.imaging.nifti import Raster, read_nifti
from stages.imaging.picture import read_picture

FILE_ENDINGS = (".nii.gz", ".nii", ".png")
LARGEST_ROUNDING = 1e-3
"""Label values this close to a whole number are taken for it: software stores 1 as 0.99999994."""


def read_raster(path: str | Path) -> Raster:
    """Read one file by the ending of its name.

    Raises:
        InputError: the file is missing or unreadable, or its kind is not known.
    """
    path = Path(path)
    if path.name.endswith((".nii.gz", ".nii")):
        return read_nifti(path)
    if path.name.endswith(".png"):
        return read_picture(path)
    raise InputError(f"{path}: expected a file ending in {', '.join(FILE_ENDINGS)}")


def read_case(
    case: Case, label_map: Mapping[int, int] | None = None
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Image (C, *spatial) and label (*spatial) of a case, in the axis order of its files.

    Raises:
        InputError: a file is missing or unreadable, shapes differ, or a label is not a whole
        number.
    """
    image = stack_channels([read_raster(path) for path in case.images], case.channel_axis)
    label = round_label(read_raster(case.label).voxels, case.label)
    if image.shape[1:] != label.shape:
        raise InputError(
            f"case {case.case_id}: expected a label of the image's shape {list(image.shape[1:])}, "
            f"found {list(label.shape)} in {case.label}"
        )
    return image, map_label(label, label_map)


def stack_channels(rasters: list[Raster], channel_axis: int | None) -> NDArray[np.float32]:
    """Channels first, contiguous; from one file a channel, or from one axis of a single file.

    Raises:
        InputError: the channels' shapes differ.
    """
    voxels = [raster.voxels for raster in rasters]
    shapes = [v.shape for v in voxels]
    if len(set(shapes)) > 1:
        raise InputError(f"expected channels of one shape, found {[list(s) for s in shapes]}")
    # A float64 beyond float32 becomes infinite, which the checks then report.
    with np.errstate(over="ignore"):
        if channel_axis is not None:
            return np.ascontiguousarray(np.moveaxis(voxels[0], channel_axis, 0), np.float32)
        return np.stack([np.ascontiguousarray(v, np.float32) for v in voxels])


def round_label(voxels: NDArray[Any], path: str) -> NDArray[np.int64]:
    """Whole numbers from a label as stored.

    Raises:
        InputError: a value is not finite, or further than 0.001 from a whole number.
    """
    if voxels.dtype.kind in "iu":
        return np.ascontiguousarray(voxels, np.int64)
    num_bad = int((~np.isfinite(voxels)).sum())
    if num_bad:
        raise InputError(
            f"{path}: expected whole numbers, found {num_bad} voxels of NaN or infinity"
        )
    whole = np.rint(voxels)
    far = np.abs(voxels - whole) > LARGEST_ROUNDING
    if far.any():
        examples = ", ".join(f"{value:g}" for value in np.unique(voxels[far])[:5])
        raise InputError(
            f"{path}: expected whole numbers as label values, found {int(far.sum())} voxels such "
            f"as {examples}; an image, or a label resampled by interpolation?"
        )
    return np.ascontiguousarray(whole, np.int64)


def map_label(label: NDArray[np.int64], label_map: Mapping[int, int] | None) -> NDArray[np.int64]:
    """Replace values at once, so that swaps work; values not in the map stay."""
    if not label_map:
        return label
    mapped = label.copy()
    for old, new in label_map.items():
        mapped[label == old] = new
    return mapped
