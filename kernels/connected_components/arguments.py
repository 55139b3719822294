"""The arguments that every implementation takes, checked and brought to one form.

Legend: B volumes, D depth, H height, W width; an image or a line is a volume of depth or height 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import torch
from torch import Tensor

MAX_SPATIAL_DIMS = 3
BATCHED_SPATIAL_DIMS = (2, 3)
MAX_INT32 = 2**31 - 1
VALUE_DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


@dataclass(frozen=True)
class Arguments:
    """A checked call."""

    foreground: Tensor
    """bool (B, D, H, W), every batch and channel a volume of its own."""
    connectivity: int
    """Number of axes along which neighbours may differ by one voxel."""
    spatial_dims: int
    labels_dtype: torch.dtype
    """See `labels_dtype`."""


def resolve(mask: Tensor, connectivity: int | None, spatial_dims: int | None) -> tuple[int, int]:
    """Settle connectivity and the number of spatial axes.

    Raises:
        ValueError: rank, spatial_dims or connectivity out of range.
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
    return settled, spatial


def max_num_components(volume: Sequence[int], connectivity: int) -> int:
    """The most components that a volume of this shape can have.

    Cut it into blocks of two voxels an axis. At full connectivity all voxels of a block are
    neighbours. At connectivity 1 every second voxel can stand alone. At 2 of 3 opposite corners of
    a whole block can both stand alone, and no third voxel with them.
    """
    if connectivity == 1:
        return (prod(volume) + 1) // 2
    blocks = prod([(size + 1) // 2 for size in volume])
    if connectivity == len(volume):
        return blocks
    return blocks + prod([size // 2 for size in volume])


def labels_dtype(volume: Sequence[int], connectivity: int) -> torch.dtype:
    """int32, unless a volume of this shape can have more components than that counts.

    A rule on the shape alone, so that a graph knows it without the mask: int64 begins with 2^32
    voxels at connectivity 1, with 2^33 to 2^34 at the others.
    """
    return torch.int32 if max_num_components(volume, connectivity) <= MAX_INT32 else torch.int64


def prepare(mask: Tensor, connectivity: int | None, spatial_dims: int | None) -> Arguments:
    """Check a call and view its mask as bool volumes (B, D, H, W).

    Raises:
        ValueError: see `resolve`.
    """
    settled, spatial = resolve(mask, connectivity, spatial_dims)
    batch, volume = mask.shape[: mask.ndim - spatial], mask.shape[mask.ndim - spatial :]
    depth, height, width = (1,) * (MAX_SPATIAL_DIMS - spatial) + tuple(volume)
    # Comparing a bool mask with 0 promotes it first: 20 ms at 182x218x182 on a CPU for nothing.
    foreground = mask if mask.dtype == torch.bool else mask != 0
    foreground = foreground.reshape(prod(batch), depth, height, width)
    return Arguments(foreground, settled, spatial, labels_dtype(volume, settled))


def check_out(mask: Tensor, out: Tensor, dtype: torch.dtype) -> None:
    """Hold `out` to what labels of the mask need; overlap in memory is left to the kernel.

    Raises:
        ValueError: dtype neither `dtype` nor int64, or another shape or device than the mask's, or
            not contiguous.
    """
    if out.dtype not in (dtype, torch.int64):
        wanted = "int64, for so many voxels" if dtype == torch.int64 else "int32 or int64"
        raise ValueError(f"connected_components: out must be {wanted}, got {out.dtype}")
    if out.shape != mask.shape:
        raise ValueError(
            f"connected_components: out must have the mask's shape {tuple(mask.shape)}, "
            f"got {tuple(out.shape)}"
        )
    if out.device != mask.device:
        raise ValueError(
            f"connected_components: out must be on the mask's device {mask.device}, "
            f"got {out.device}"
        )
    if not out.is_contiguous():
        raise ValueError(
            f"connected_components: out must be contiguous, got strides {out.stride()}; "
            "label into a contiguous one and copy"
        )


def check_values(mask: Tensor, values: Sequence[Tensor]) -> None:
    """Hold the tensors of a component table to the mask.

    Raises:
        ValueError: not floating, or another shape or device than the mask's.
    """
    for channel, value in enumerate(values):
        if value.dtype not in VALUE_DTYPES:
            raise ValueError(
                "component_table: values must be float16, bfloat16, float32 or float64, "
                f"got {value.dtype} as number {channel}"
            )
        if value.shape != mask.shape:
            raise ValueError(
                f"component_table: values must have the mask's shape {tuple(mask.shape)}, "
                f"got {tuple(value.shape)} as number {channel}"
            )
        if value.device != mask.device:
            raise ValueError(
                f"component_table: values must be on the mask's device {mask.device}, "
                f"got {value.device} as number {channel}"
            )
