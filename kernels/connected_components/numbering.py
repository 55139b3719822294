"""Number dense components, given each voxel's root: the first voxel of its component."""

import torch
from torch import Tensor


def number_roots(roots: Tensor, num_volumes: int, dtype: torch.dtype) -> Tensor:
    """Labels from 1 in each volume, in raster order of first voxels.

    Args:
        roots: flat, one integer a voxel: the position of its root; on background the number of
            voxels.
        num_volumes: volumes of equal size, one after the other.
        dtype: of the labels.

    Returns:
        Flat; 0 on background.
    """
    size = roots.shape[0]
    positions = torch.arange(size, dtype=roots.dtype, device=roots.device)
    firsts = (roots == positions).nonzero().squeeze(1)
    ranks = torch.arange(1, firsts.shape[0] + 1, device=roots.device)
    if num_volumes > 1:
        volume_size = size // num_volumes
        starts = torch.arange(num_volumes, device=roots.device) * volume_size
        ranks = ranks - torch.searchsorted(firsts, starts)[firsts // volume_size]
    # Background looks up the one element past the end, which stays 0.
    numbers = torch.zeros(size + 1, dtype=dtype, device=roots.device)
    numbers[firsts] = ranks.to(dtype)
    return numbers.index_select(0, roots)
