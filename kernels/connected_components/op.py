"""The operator itself: public function and shape rule; the kernel is C++ on the stable ABI."""

from pathlib import Path

import torch
from torch import Tensor

from kernels.connected_components.arguments import resolve
from kernels.load import ensure_loaded

ensure_loaded(Path(__file__).parent, "breakeven", "connected_components")


def connected_components(
    mask: Tensor, connectivity: int | None = None, *, spatial_dims: int | None = None
) -> Tensor:
    """Label the connected components of a mask.

    Args:
        mask: any dtype; what is not equal to zero is foreground. Without `spatial_dims` every axis
            is spatial, 1 to 3 of them.
        connectivity: along how many axes two neighbours may differ by one voxel, 1 to the number of
            spatial axes, as in scikit-image; None for all of them.
        spatial_dims: 2 or 3: the last axes are spatial, those before are batch and channel, and
            each volume is labelled from 1 by itself.

    Returns:
        int32 labels of the mask's shape, contiguous: background 0, components 1 to N in raster
        order of their first voxels.

    Raises:
        ValueError: rank, spatial_dims or connectivity out of range, or 2^31 voxels or more in a
            volume.
    """
    settled, spatial = resolve(mask, connectivity, spatial_dims)
    labels: Tensor = torch.ops.breakeven.connected_components(mask, settled, spatial)
    return labels


@torch.library.register_fake("breakeven::connected_components")  # type: ignore[untyped-decorator]
def _fake(mask: Tensor, connectivity: int, spatial_dims: int) -> Tensor:
    """int32 and contiguous, of the mask's shape; ranges as the header checks them."""
    torch._check(  # type: ignore[no-untyped-call]
        1 <= connectivity <= spatial_dims <= min(mask.ndim, 3),
        lambda: (
            "connected_components: expected 1 <= connectivity <= spatial_dims <= 3 and as many "
            f"axes, got connectivity {connectivity}, spatial_dims {spatial_dims}, {mask.ndim} axes"
        ),
    )
    return mask.new_empty(mask.shape, dtype=torch.int32)
