"""One row a component, measured without labels: public function and shape rule."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from kernels.connected_components.arguments import check_values, resolve
from kernels.connected_components.op import check_ranges


class ComponentTable(NamedTuple):
    """N components: volume by volume, in each in the order of `connected_components`' labels."""

    volumes: Tensor
    """int64 (N,), index of the volume in the flattened batch; all 0 without one."""
    voxels: Tensor
    """int64 (N,), number of voxels."""
    boxes: Tensor
    """int64 (N, spatial axes, 2), first and one past the last index along each axis."""
    centroids: Tensor
    """float64 (N, spatial axes), mean index along each axis, in voxels."""
    sums: Tensor
    """float64 (N, C), sum of each of `values` over the component."""
    minima: Tensor
    """float64 (N, C), which holds every value exactly; NaN where the component has a NaN."""


# So that an exported program that returns a table can be saved; torch has no public name for it.
torch.utils._pytree._register_namedtuple(
    ComponentTable, serialized_type_name=f"{ComponentTable.__module__}.{ComponentTable.__name__}"
)


def component_table(
    mask: Tensor,
    values: Sequence[Tensor] | None = None,
    connectivity: int | None = None,
    *,
    spatial_dims: int | None = None,
) -> ComponentTable:
    """Measure every connected component of a mask in one pass, without writing labels.

    Sums are accumulated in float64, run by run and slab by slab in an order that the shape alone
    fixes: the same bits at any number of threads. Not differentiable. In a compiled or exported
    graph N is a size that the mask decides.

    Args:
        mask: as for `connected_components`.
        values: C tensors of the mask's shape, float16, bfloat16, float32 or float64.
        connectivity: as for `connected_components`.
        spatial_dims: as for `connected_components`.

    Raises:
        ValueError: rank, spatial_dims or connectivity out of range, or `values` do not fit.
    """
    settled, spatial = resolve(mask, connectivity, spatial_dims)
    measured = list(values or ())
    check_values(mask, measured)
    return ComponentTable(*torch.ops.breakeven.component_table(mask, measured, settled, spatial))


@torch.library.register_fake("breakeven::component_table")  # type: ignore[untyped-decorator]
def _fake(
    mask: Tensor, values: list[Tensor], connectivity: int, spatial_dims: int
) -> tuple[Tensor, ...]:
    """As many rows as the mask has components, which its values alone tell."""
    check_ranges(mask, connectivity, spatial_dims)
    check_values(mask, values)
    rows = torch.library.get_ctx().new_dynamic_size()
    return (
        mask.new_empty((rows,), dtype=torch.int64),
        mask.new_empty((rows,), dtype=torch.int64),
        mask.new_empty((rows, spatial_dims, 2), dtype=torch.int64),
        mask.new_empty((rows, spatial_dims), dtype=torch.float64),
        mask.new_empty((rows, len(values)), dtype=torch.float64),
        mask.new_empty((rows, len(values)), dtype=torch.float64),
    )
