"""Figures of one case: intensities of each channel, values and lesions of the label."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from stages.imaging.facts import ChannelFacts, LabelFacts


def describe_channel(name: str, voxels: NDArray[np.float32]) -> ChannelFacts:
    """Intensities of one channel (*spatial); all figures 0 where no voxel is finite."""
    is_finite = np.isfinite(voxels)
    num_bad = voxels.size - int(is_finite.sum())
    first = None
    if num_bad:
        first = tuple(int(i) for i in np.unravel_index(int(np.argmin(is_finite)), voxels.shape))
    values = voxels[is_finite].astype(np.float64) if num_bad else voxels.ravel()
    if not values.size:
        values = np.zeros(1)
    return ChannelFacts(
        name=name,
        num_nan=int(np.isnan(voxels).sum()) if num_bad else 0,
        num_infinite=int(np.isinf(voxels).sum()) if num_bad else 0,
        first_not_finite=first,
        minimum=float(values.min()),
        maximum=float(values.max()),
        mean=float(values.mean(dtype=np.float64)),
        std=float(values.std(dtype=np.float64)),
        percentile_99=float(np.percentile(values, 99)),
    )


def describe_label(
    stored: NDArray[Any], rounded: NDArray[np.int64], mapped: NDArray[np.int64]
) -> LabelFacts:
    """Values as rounded, lesions as mapped: components of the foreground, full connectivity."""
    values, counts = np.unique(rounded, return_counts=True)
    rounding = float(np.abs(stored - rounded).max(initial=0)) if stored.dtype.kind == "f" else 0.0
    sizes = lesion_sizes(mapped)
    return LabelFacts(
        values=dict(zip(values.tolist(), counts.tolist(), strict=True)),
        largest_rounding=rounding,
        num_lesions=len(sizes),
        num_lesion_voxels=int(sizes.sum()),
        largest_lesion_voxels=int(sizes.max(initial=0)),
    )


def lesion_sizes(label: NDArray[np.int64]) -> NDArray[np.int64]:
    """Voxels of each connected component of the foreground, full connectivity, in raster order."""
    components, _ = ndimage.label(label > 0, np.ones((3,) * label.ndim))
    return np.bincount(components.ravel())[1:]
