"""Open-source libraries that compute the exact Euclidean distance transform, through NumPy."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from kernels.distance_transform.arguments import read_arguments
from kernels.operator import Implementation, Library

VolumeTransform = Callable[[Any, list[float]], Any]
"""Boolean array with at least one zero, spacing -> distances."""


def _adapt(transform: VolumeTransform) -> Implementation:
    """Give a transform of single volumes the arguments and conventions of `op.py`.

    A volume without a zero never reaches the library: what SciPy answers there means nothing.
    """

    def call(
        mask: torch.Tensor,
        spacing: Sequence[float] | None = None,
        *,
        spatial_dims: int | None = None,
    ) -> torch.Tensor:
        steps, dims = read_arguments(mask, spacing, spatial_dims)
        is_inside = (mask != 0).contiguous().numpy()
        distances = np.zeros(is_inside.shape, np.float32)
        batch_shape = is_inside.shape[: is_inside.ndim - dims]
        if is_inside.size:
            for index in itertools.product(*map(range, batch_shape)):
                volume = is_inside[index]
                distances[index] = np.inf if volume.all() else transform(volume, steps)
        return torch.from_numpy(distances)

    return call


def _load_scipy() -> Implementation:
    from scipy import ndimage

    return _adapt(lambda volume, steps: ndimage.distance_transform_edt(volume, sampling=steps))


def _load_edt() -> Implementation:
    import edt

    def transform(volume: Any, steps: list[float]) -> Any:
        # It sums in float32: this unit keeps squares in range and steps along a line whole.
        unit = max(steps)
        scaled = [step / unit for step in steps]
        # Without black_border=False the outside of the volume would count as zero voxels.
        distances = edt.edt(
            volume,
            anisotropy=scaled if volume.ndim > 1 else scaled[0],
            black_border=False,
            parallel=torch.get_num_threads(),
        )
        return distances * unit if unit != 1 else distances

    return _adapt(transform)


LIBRARIES = (
    Library("scipy", distribution="scipy", licence="BSD-3-Clause", load=_load_scipy),
    Library("edt", distribution="edt", licence="LGPL-3.0-or-later", load=_load_edt),
)
