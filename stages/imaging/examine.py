"""Examine one case: read its files once, and keep what the manifest and every check need."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from stages.contract import InputError
from stages.imaging.facts import CaseFacts, ChannelFacts, FileFacts, LabelFacts
from stages.imaging.hashing import hash_voxels
from stages.imaging.nifti import Raster
from stages.imaging.reading import map_label, read_raster, round_label, stack_channels
from stages.imaging.statistics import describe_channel, describe_label


def examine_case(
    planned: CaseFacts, channel_names: Sequence[str], label_map: Mapping[int, int] | None
) -> CaseFacts:
    """The planned case with what its files hold; with a fault instead where one cannot be read."""
    if planned.fault is not None:
        return planned
    try:
        return _examine(planned, channel_names, label_map)
    except InputError as error:
        return planned.model_copy(update={"fault": str(error)})
    except (
        Exception
    ) as error:  # whatever a damaged file provokes is that case's fault, the rest is judged
        return planned.model_copy(update={"fault": f"unreadable ({type(error).__name__}: {error})"})


def _examine(
    planned: CaseFacts, channel_names: Sequence[str], label_map: Mapping[int, int] | None
) -> CaseFacts:
    rasters = [read_raster(path) for path in planned.images]
    channel_axis = _find_channel_axis(planned.images, rasters, len(channel_names))
    image = stack_channels(rasters, channel_axis)
    roles = channel_names if channel_axis is None else ["image"]
    files = [
        _describe_file(path, role, raster, image.ndim - 1)
        for path, role, raster in zip(planned.images, roles, rasters, strict=True)
    ]
    label_facts, label = None, None
    if planned.label is not None:
        label_facts, label, file = _examine_label(planned.label, label_map)
        files.append(file)
    return planned.model_copy(
        update={
            "channel_axis": channel_axis,
            "files": tuple(files),
            "channels": _describe_channels(channel_names, image),
            "label_facts": label_facts,
            "image_hash": hash_voxels(image),
            "content_hash": hash_voxels(image, label),
        }
    )


def _examine_label(
    path: str, label_map: Mapping[int, int] | None
) -> tuple[LabelFacts, NDArray[np.int64], FileFacts]:
    raster = read_raster(path)
    rounded = round_label(raster.voxels, path)
    label = map_label(rounded, label_map)
    if label.ndim > 3:
        raise InputError(
            f"{path}: expected a label of 2 or 3 axes, found shape {list(label.shape)}"
        )
    facts = describe_label(raster.voxels, rounded, label)
    return facts, label, _describe_file(path, "label", raster, label.ndim)


def _describe_channels(
    names: Sequence[str], image: NDArray[np.float32]
) -> tuple[ChannelFacts, ...]:
    return tuple(describe_channel(name, voxels) for name, voxels in zip(names, image, strict=True))


def _find_channel_axis(
    paths: Sequence[str], rasters: Sequence[Raster], num_channels: int
) -> int | None:
    """The last axis of a single file that holds all channels; None for one file a channel.

    Raises:
        InputError: a file has more axes than its place allows.
    """
    shapes = [raster.voxels.shape for raster in rasters]
    if len(rasters) == 1 and num_channels > 1:
        if len(shapes[0]) == 4 and shapes[0][-1] == num_channels:
            return 3
        raise InputError(
            f"{paths[0]}: expected {num_channels} channels on a fourth axis, found shape "
            f"{list(shapes[0])}"
        )
    for path, shape in zip(paths, shapes, strict=True):
        if len(shape) > 3:
            raise InputError(
                f"{path}: 4-D image of shape {list(shape)} where 3-D is due; if the last axis "
                f"holds channels, split it into {_name_channels(path, shape[-1])} and name them "
                "under channel_names in dataset.json; if it is time, keep one volume"
            )
    return None


def _name_channels(path: str, num_channels: int) -> str:
    """Names such as `case_0000.nii.gz, case_0001.nii.gz, ...`."""
    name = Path(path).name
    stem, dot, ending = name.partition(".")
    if stem[-5:-4] == "_" and stem[-4:].isdigit():
        stem = stem[:-5]
    names = [f"{stem}_{n:04d}{dot}{ending}" for n in range(min(num_channels, 2))]
    return ", ".join(names + ["..."] * (num_channels > 2))


def _describe_file(path: str, role: str, raster: Raster, num_axes: int) -> FileFacts:
    affine = None if raster.affine is None else tuple(tuple(row) for row in raster.affine.tolist())
    return FileFacts(
        path=path,
        role=role,
        dtype=raster.dtype,
        shape=raster.voxels.shape[:num_axes],
        spacing_mm=raster.spacing_mm[:num_axes],
        affine=affine,
        forms_offset_mm=raster.forms_offset_mm,
        units=raster.units,
    )
