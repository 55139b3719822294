"""The composition most often published: a masked maximum pool, repeated until stable.

Kept because people use it. Its rounds grow with the longest path inside a component; published
forms stop after a fixed number of rounds and split long components, this one does not.
"""

import torch
from torch import Tensor
from torch.nn import functional

from kernels.connected_components.arguments import prepare
from kernels.connected_components.fixed_point import until_stable
from kernels.connected_components.neighbourhood import SPATIAL_AXES, over_neighbours
from kernels.connected_components.numbering import number_roots

FLOAT32_EXACT_LIMIT = 2**24


def label_by_pooling(
    mask: Tensor, connectivity: int | None = None, *, spatial_dims: int | None = None
) -> Tensor:
    """Label the connected components of a mask; arguments and result as in `op.py`.

    Raises:
        ValueError: rank, spatial_dims or connectivity out of range.
    """
    arguments = prepare(mask, connectivity, spatial_dims)
    foreground_BDHW = arguments.foreground
    if mask.numel() == 0:
        return torch.zeros(mask.shape, dtype=arguments.labels_dtype, device=mask.device)
    size = mask.numel()
    # Pooling wants floats; beyond 2^24 float32 would give two voxels one identifier.
    dtype = torch.float32 if size < FLOAT32_EXACT_LIMIT else torch.float64
    identifiers = torch.arange(size, 0, -1, dtype=dtype, device=mask.device)
    weight_BDHW = foreground_BDHW.to(dtype)

    def step(values_BDHW: Tensor) -> Tensor:
        nearby_BDHW = over_neighbours(values_BDHW, arguments.connectivity, _pool, torch.maximum)
        return nearby_BDHW * weight_BDHW

    start_BDHW = identifiers.reshape(foreground_BDHW.shape) * weight_BDHW
    largest = until_stable(step, start_BDHW).reshape(-1)
    roots = size - largest.to(torch.int64)
    return number_roots(roots, foreground_BDHW.shape[0], arguments.labels_dtype).reshape(mask.shape)


def _pool(volume_BDHW: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Maximum over the box of radius 1 along the axes."""
    kernel = [3 if axis in axes else 1 for axis in SPATIAL_AXES]
    padding = [size // 2 for size in kernel]
    pooled = functional.max_pool3d(volume_BDHW.unsqueeze(1), kernel, stride=1, padding=padding)
    return pooled.squeeze(1)
