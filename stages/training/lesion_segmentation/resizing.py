"""One way to resize images and logits, so that training and inference see the same voxels."""

from collections.abc import Sequence

from torch import Tensor
from torch.nn import functional

LINEAR_MODES = {2: "bilinear", 3: "trilinear"}
"""By number of spatial axes."""


def resize_linearly(values: Tensor, size: Sequence[int]) -> Tensor:
    """Resize (N, C, *spatial) to `size`, voxel centres aligned; unchanged at equal size."""
    if tuple(values.shape[2:]) == tuple(size):
        return values
    return functional.interpolate(
        values, size=tuple(size), mode=LINEAR_MODES[len(size)], align_corners=False
    )
