"""Dense composition: shifted minimum, hooking and pointer jumping on whole volumes.

Independent of `by_runs`: no compaction, the same work a round whatever the mask holds.
"""

from functools import partial

import torch
from torch import Tensor

from kernels.connected_components.arguments import prepare
from kernels.connected_components.fixed_point import until_stable
from kernels.connected_components.neighbourhood import box_minimum, over_neighbours
from kernels.connected_components.numbering import number_roots

INT32_POSITIONS_LIMIT = 2**31


def label_by_hooking(
    mask: Tensor, connectivity: int | None = None, *, spatial_dims: int | None = None
) -> Tensor:
    """Label the connected components of a mask; arguments and result as in `op.py`.

    Raises:
        ValueError: rank, spatial_dims or connectivity out of range.
    """
    arguments = prepare(mask, connectivity, spatial_dims)
    size = mask.numel()
    if size == 0:
        return torch.zeros(mask.shape, dtype=arguments.labels_dtype, device=mask.device)
    shape = arguments.foreground.shape
    foreground = arguments.foreground.reshape(-1)
    # A parent is a position in raster order. Background has the parent `size`, a slot past the end
    # that is its own parent; so nothing has to be masked while pointers jump.
    dtype = torch.int32 if size < INT32_POSITIONS_LIMIT else torch.int64
    past_end = torch.full((1,), size, dtype=dtype, device=mask.device)

    def step(parents: Tensor) -> Tensor:
        nearby = over_neighbours(
            parents[:-1].reshape(shape),
            arguments.connectivity,
            partial(box_minimum, outside=size),
            torch.minimum,
        )
        smallest = torch.where(foreground, nearby.reshape(-1), size)
        hooked = parents.scatter_reduce(
            0, parents.to(torch.int64), torch.cat((smallest, past_end)), "amin"
        )
        jumped = hooked.index_select(0, hooked)
        return jumped.index_select(0, jumped)

    positions = torch.arange(size, dtype=dtype, device=mask.device)
    start = torch.cat((torch.where(foreground, positions, size), past_end))
    roots = until_stable(step, start)[:-1]
    return number_roots(roots, shape[0], arguments.labels_dtype).reshape(mask.shape)
