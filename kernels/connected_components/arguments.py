"""The arguments that every implementation takes, checked and brought to one form.

Legend: B volumes, D depth, H height, W width; an image or a line is a volume of depth or height 1.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

MAX_SPATIAL_DIMS = 3
BATCHED_SPATIAL_DIMS = (2, 3)
NUM_VOXELS_LIMIT = 2**31


@dataclass(frozen=True)
class Arguments:
    """A checked call."""

    foreground: Tensor
    """bool (B, D, H, W), every batch and channel a volume of its own."""
    connectivity: int
    """Number of axes along which neighbours may differ by one voxel."""
    spatial_dims: int


def resolve(mask: Tensor, connectivity: int | None, spatial_dims: int | None) -> tuple[int, int]:
    """Settle connectivity and the number of spatial axes.

    Raises:
        ValueError: rank, spatial_dims or connectivity out of range, or 2^31 voxels or more in a
            volume.
    """
    if spatial_dims is None:
        if not 1 <= mask.ndim <= MAX_SPATIAL_DIMS:
            raise ValueError(
                f"connected_components: mask must have 1 to {MAX_SPATIAL_DIMS} axes, got "
                f"{mask.ndim}; pass spatial_dims for a mask with batch or channel axes"
            )
        spatial = mask.ndim
    elif spatial_dims not in BATCHED_SPATIAL_DIMS:
        raise ValueError(f"connected_components: spatial_dims must be 2 or 3, got {spatial_dims}")
    elif mask.ndim < spatial_dims:
        raise ValueError(
            f"connected_components: mask must have at least spatial_dims={spatial_dims} axes, "
            f"got {mask.ndim}"
        )
    else:
        spatial = spatial_dims
    settled = spatial if connectivity is None else connectivity
    if not 1 <= settled <= spatial:
        raise ValueError(
            f"connected_components: connectivity must be 1 to {spatial} for {spatial} spatial "
            f"axes, got {connectivity}"
        )
    num_voxels = 1
    for size in mask.shape[mask.ndim - spatial :]:
        num_voxels *= size
    if num_voxels >= NUM_VOXELS_LIMIT:
        raise ValueError(
            "connected_components: a volume must have fewer than 2^31 voxels for int32 labels, "
            f"got {num_voxels}"
        )
    return settled, spatial


def prepare(mask: Tensor, connectivity: int | None, spatial_dims: int | None) -> Arguments:
    """Check a call and view its mask as bool volumes (B, D, H, W).

    Raises:
        ValueError: see `resolve`.
    """
    settled, spatial = resolve(mask, connectivity, spatial_dims)
    batch, volume = mask.shape[: mask.ndim - spatial], mask.shape[mask.ndim - spatial :]
    num_volumes = 1
    for size in batch:
        num_volumes *= size
    depth, height, width = (1,) * (MAX_SPATIAL_DIMS - spatial) + tuple(volume)
    # Comparing a bool mask with 0 promotes it first: 20 ms at 182x218x182 on a CPU for nothing.
    foreground = mask if mask.dtype == torch.bool else mask != 0
    foreground = foreground.reshape(num_volumes, depth, height, width)
    return Arguments(foreground, settled, spatial)
