"""Open-source libraries that compute the exact Euclidean distance transform, through NumPy."""

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from kernels.distance_transform.arguments import read_arguments
from kernels.operator import Implementation, Library

VolumeTransform = Callable[[Any, list[float]], Any]
"""Boolean array with a zero and a one at least, spacing -> distances."""


def _adapt(unsigned: VolumeTransform, of_both_sides: VolumeTransform) -> Implementation:
    """Give transforms of single volumes the arguments and conventions of `op.py`.

    A volume of one kind of voxel alone never reaches the library: what it answers there means
    nothing.
    """

    def call(
        mask: torch.Tensor,
        spacing: Sequence[float] | None = None,
        *,
        signed: bool = False,
        spatial_dims: int | None = None,
    ) -> torch.Tensor:
        steps, dims = read_arguments(mask, spacing, spatial_dims)
        is_inside = (mask != 0).contiguous().numpy()
        distances = np.zeros(is_inside.shape, np.float32)
        batch_shape = is_inside.shape[: is_inside.ndim - dims]
        if is_inside.size:
            for index in itertools.product(*map(range, batch_shape)):
                volume = is_inside[index]
                if volume.all():
                    distances[index] = np.inf
                elif not volume.any():
                    distances[index] = -np.inf if signed else 0
                else:
                    transform = of_both_sides if signed else unsigned
                    distances[index] = transform(volume, steps)
        return torch.from_numpy(distances)

    return call


def _load_scipy() -> Implementation:
    from scipy import ndimage

    def unsigned(volume: Any, steps: list[float]) -> Any:
        return ndimage.distance_transform_edt(volume, sampling=steps)

    def of_both_sides(volume: Any, steps: list[float]) -> Any:
        return unsigned(volume, steps) - unsigned(~volume, steps)

    return _adapt(unsigned, of_both_sides)


def _load_edt() -> Implementation:
    import edt

    def scaled(transform: Callable[..., Any], volume: Any, steps: list[float]) -> Any:
        # It sums in float32: this unit keeps squares in range and steps along a line whole.
        unit = max(steps)
        of_unit = [step / unit for step in steps]
        # Without black_border=False the outside of the volume would count as zero voxels.
        distances = transform(
            volume,
            anisotropy=of_unit if volume.ndim > 1 else of_unit[0],
            black_border=False,
            parallel=torch.get_num_threads(),
        )
        return distances * unit if unit != 1 else distances

    return _adapt(partial(scaled, edt.edt), partial(scaled, edt.sdf))


LIBRARIES = (
    Library("scipy", distribution="scipy", licence="BSD-3-Clause", load=_load_scipy),
    Library("edt", distribution="edt", licence="LGPL-3.0-or-later", load=_load_edt),
)
