"""The rows of a lesion report, from labels, in standard PyTorch operators on lesion voxels alone.

Legend: M lesion voxels, N lesions.
"""

from collections.abc import Sequence
from math import inf, prod
from typing import cast

import torch
from torch import Tensor

COLUMNS = (
    "voxels",
    "volume_mm3",
    "centroid_z_mm",
    "centroid_y_mm",
    "centroid_x_mm",
    "mean_probability",
    "min_distance",
)
IMAGE_DIMS = 2
VOLUME_DIMS = 3


def lesion_table(
    labels: Tensor, probability: Tensor, distance: Tensor, spacing: Sequence[float]
) -> Tensor:
    """Describe every lesion by one row; sums are accumulated in float64.

    Args:
        labels: int32 or int64, (D, H, W) or (H, W): 0 on background, lesions 1 to N without a gap,
            as `connected_components` numbers them.
        probability: floating, of the same shape.
        distance: floating, of the same shape, in mm.
        spacing: mm, one positive number an axis of `labels`.

    Returns:
        float32 (N, 7), row n - 1 for lesion n, with the COLUMNS in order. Centroids are measured
        from the centre of the first voxel. An image is a slice 1 mm thick at z = 0: its volume in
        mm3 is its area in mm2. Voxel counts are exact below 2^24.

    Raises:
        ValueError: ranks, shapes or spacing do not fit.
    """
    _check_fit(labels, probability, distance, spacing)
    if labels.numel() == 0:
        return torch.zeros((0, len(COLUMNS)), device=labels.device)
    # A symbol in an exported graph, which int() would not survive.
    num_lesions = cast(int, labels.max().item())
    torch._check(num_lesions >= 0)  # type: ignore[no-untyped-call]
    flat = labels.reshape(-1)
    positions_M = flat.nonzero().squeeze(1)
    lesion_M = flat[positions_M].to(torch.int64) - 1
    measured_M = torch.stack(
        (
            torch.ones_like(positions_M, dtype=torch.float64),
            *_coordinates_mm(positions_M, labels.shape, spacing),
            probability.reshape(-1)[positions_M].to(torch.float64),
        ),
        dim=1,
    )
    sums_N = measured_M.new_zeros((num_lesions, measured_M.shape[1]))
    sums_N = sums_N.index_add(0, lesion_M, measured_M)
    nearest_N = measured_M.new_full((num_lesions,), inf).scatter_reduce(
        0, lesion_M, distance.reshape(-1)[positions_M].to(torch.float64), "amin"
    )
    voxels_N1 = sums_N[:, :1]
    columns = (voxels_N1, voxels_N1 * prod(spacing), sums_N[:, 1:] / voxels_N1, nearest_N[:, None])
    return torch.cat(columns, dim=1).to(torch.float32)


def _coordinates_mm(
    positions_M: Tensor, shape: torch.Size, spacing: Sequence[float]
) -> tuple[Tensor, Tensor, Tensor]:
    """z, y and x in mm, float64; z is 0 in an image."""
    height, width = shape[-2:]
    row = positions_M // width
    x = (positions_M - row * width).to(torch.float64) * spacing[-1]
    plane = row // height
    y = (row - plane * height).to(torch.float64) * spacing[-2]
    z = plane.to(torch.float64) * (spacing[0] if len(shape) == VOLUME_DIMS else 0.0)
    return z, y, x


def _check_fit(
    labels: Tensor, probability: Tensor, distance: Tensor, spacing: Sequence[float]
) -> None:
    if labels.ndim not in (IMAGE_DIMS, VOLUME_DIMS):
        raise ValueError(f"lesion_table: labels must have 2 or 3 axes, got {labels.ndim}")
    if labels.is_floating_point() or labels.dtype == torch.bool:
        raise ValueError(f"lesion_table: labels must be integers, got {labels.dtype}")
    for name, values in (("probability", probability), ("distance", distance)):
        if values.shape != labels.shape:
            raise ValueError(
                f"lesion_table: {name} must have the labels' shape {tuple(labels.shape)}, "
                f"got {tuple(values.shape)}"
            )
    if len(spacing) != labels.ndim or min(spacing) <= 0:
        raise ValueError(
            f"lesion_table: spacing must be {labels.ndim} positive numbers in mm, got {spacing}"
        )
