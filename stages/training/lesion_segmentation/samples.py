"""From a case as read to the sample that the network sees."""

from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import ndimage
from torch import Tensor

from stages.contract import Case, DataShape, InputError, ReadCase, Sample
from stages.training.lesion_segmentation.resizing import LINEAR_MODES


def make_samples(cases: Sequence[Case], read_case: ReadCase, shape: DataShape) -> Sequence[Sample]:
    """The cases' samples, in order; each is read when first asked for, and kept in memory."""
    return CachedSamples(cases, read_case, shape)


class CachedSamples(Sequence[Sample]):
    """Samples read on first use."""

    def __init__(self, cases: Sequence[Case], read_case: ReadCase, shape: DataShape) -> None:
        self._cases, self._read_case = tuple(cases), read_case
        self._prepare = _preparation(shape)
        self._cache: dict[int, Sample] = {}

    def __len__(self) -> int:
        return len(self._cases)

    @overload
    def __getitem__(self, index: int) -> Sample: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Sample]: ...
    def __getitem__(self, index: int | slice) -> Sample | Sequence[Sample]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"expected a sample below {len(self)}, got {index}")
        index %= len(self)
        if index not in self._cache:
            case = self._cases[index]
            self._cache[index] = self._prepare(case, *self._read_case(case))
        return self._cache[index]


Prepare = Callable[[Case, NDArray[Any], NDArray[Any]], Sample]


def _preparation(shape: DataShape) -> Prepare:
    """Bring a case to the geometry of a deployed case, then to the working shape.

    Every step that the deployed case takes is taken here too: "pad" appends zeros, "resample"
    interpolates to the case's shape and from there to the working shape, which blurs more than one
    step would (Dice .70 with one step in training and two in deployment became .24). "render" needs
    neither: a case of any size shows the same anatomy."""
    from monai.transforms.compose import Compose
    from monai.transforms.croppad.array import SpatialPad
    from monai.transforms.spatial.array import Resize

    linear = {"mode": LINEAR_MODES[shape.num_spatial_dims], "align_corners": False}
    nearest = {"mode": "nearest-exact"}

    def steps(how: dict[str, Any]) -> Any:
        fit = {
            "pad": [SpatialPad(shape.case_shape, method="end")],
            "resample": [Resize(shape.case_shape, **how)],
            "render": [],
        }[shape.fit]
        return Compose([*fit, Resize(shape.working_shape, **how)])

    to_image, to_label = steps(linear), steps(nearest)

    def prepare(case: Case, image: NDArray[Any], label: NDArray[Any]) -> Sample:
        _check(case, image, label, shape)
        label_at_work = _plain(to_label(label[None].astype(np.float32))).round().to(torch.int64)
        return {
            "image": _plain(to_image(image)).to(torch.float32),
            "label": label_at_work,
            "instances": _instances(label_at_work),
        }

    return prepare


def _check(case: Case, image: NDArray[Any], label: NDArray[Any], shape: DataShape) -> None:
    spatial = image.shape[1:]
    if image.shape[0] != shape.num_channels or spatial != label.shape:
        raise InputError(
            f"case {case.case_id}: expected an image of {shape.num_channels} channels over the "
            f"label's voxels {label.shape}, got {image.shape}"
        )
    if shape.fit == "pad" and any(n > m for n, m in zip(spatial, shape.case_shape, strict=True)):
        raise InputError(
            f"case {case.case_id}: expected at most {shape.case_shape} voxels, got {spatial}; set "
            f"product.case_shape in params.yaml to have cases resampled to one size"
        )
    if label.min() < 0 or label.max() >= shape.num_classes:
        raise InputError(
            f"case {case.case_id}: expected labels 0 to {shape.num_classes - 1}, got {label.min()} "
            f"to {label.max()}; data.label_map in params.yaml replaces label values"
        )


def _instances(label: Tensor) -> Tensor:
    """Components of the foreground, full connectivity, (1, *spatial) int32."""
    foreground = label[0].numpy() > 0
    full = ndimage.generate_binary_structure(foreground.ndim, foreground.ndim)
    instances, _ = ndimage.label(foreground, full)
    return torch.from_numpy(instances[None].astype(np.int32))


def _plain(values: Any) -> Tensor:
    """A tensor without MONAI's metadata, contiguous."""
    tensor: Tensor = values.as_tensor() if hasattr(values, "as_tensor") else values
    return tensor.contiguous()
