"""Labels and counts: public functions and shape rules; the kernel is C++ on the stable ABI."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from kernels.connected_components.arguments import check_out, labels_dtype, resolve
from kernels.load import ensure_loaded

ensure_loaded(Path(__file__).parent, "breakeven", "connected_components")


def connected_components(
    mask: Tensor,
    connectivity: int | None = None,
    *,
    spatial_dims: int | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Label the connected components of a mask.

    One bit a voxel while it works: at most 0.5 bytes a voxel beyond the result, in rows of 64
    voxels or more. The result does not depend on the number of threads or on the instruction set.

    Args:
        mask: any dtype and layout; what is not equal to zero is foreground. Without `spatial_dims`
            every axis is spatial, 1 to 3 of them.
        connectivity: along how many axes two neighbours may differ by one voxel, 1 to the number of
            spatial axes, as in scikit-image; None for all of them.
        spatial_dims: 2 or 3: the last axes are spatial, those before are batch and channel, and
            each volume is labelled from 1 by itself.
        out: contiguous, of the mask's shape and on its device, int32 (where labels are) or int64;
            filled and returned. Saves the time in which fresh memory is first touched, which can be
            more than that of the labelling.

    Returns:
        Labels of the mask's shape, contiguous: background 0, components 1 to N in raster order of
        their first voxels. int32; int64 where a volume of that shape could have 2^31 components or
        more, which takes 2^32 voxels.

    Raises:
        ValueError: rank, spatial_dims or connectivity out of range, or `out` does not fit.
        RuntimeError: `out` and the mask overlap in memory, or a volume is too large (2^33 voxels at
            connectivity 1).
    """
    settled, spatial = resolve(mask, connectivity, spatial_dims)
    labels: Tensor
    if out is None:
        labels = torch.ops.breakeven.connected_components(mask, settled, spatial)
        return labels
    check_out(mask, out, _labels_dtype(mask, settled, spatial))
    labels = torch.ops.breakeven.connected_components.out(mask, settled, spatial, out=out)
    return labels


def component_count(
    mask: Tensor, connectivity: int | None = None, *, spatial_dims: int | None = None
) -> Tensor:
    """Count the connected components of each volume, without labels.

    Args:
        mask: as for `connected_components`.
        connectivity: as for `connected_components`.
        spatial_dims: as for `connected_components`.

    Returns:
        int64, of the batch and channel axes' shape: a scalar without `spatial_dims`.

    Raises:
        ValueError: rank, spatial_dims or connectivity out of range.
    """
    settled, spatial = resolve(mask, connectivity, spatial_dims)
    counts: Tensor = torch.ops.breakeven.component_count(mask, settled, spatial)
    return counts


def check_ranges(mask: Tensor, connectivity: int, spatial_dims: int) -> None:
    """What the header checks, for a shape rule.

    Raises:
        RuntimeError: connectivity or spatial_dims out of range.
    """
    torch._check(  # type: ignore[no-untyped-call]
        1 <= connectivity <= spatial_dims <= min(mask.ndim, 3),
        lambda: (
            "connected_components: expected 1 <= connectivity <= spatial_dims <= 3 and as many "
            f"axes, got connectivity {connectivity}, spatial_dims {spatial_dims}, {mask.ndim} axes"
        ),
    )


def _labels_dtype(mask: Tensor, connectivity: int, spatial_dims: int) -> torch.dtype:
    return labels_dtype(mask.shape[mask.ndim - spatial_dims :], connectivity)


@torch.library.register_fake("breakeven::connected_components")  # type: ignore[untyped-decorator]
def _fake(mask: Tensor, connectivity: int, spatial_dims: int) -> Tensor:
    """Contiguous, of the mask's shape; int64 where the shape asks for it."""
    check_ranges(mask, connectivity, spatial_dims)
    return mask.new_empty(mask.shape, dtype=_labels_dtype(mask, connectivity, spatial_dims))


@torch.library.register_fake("breakeven::connected_components.out")  # type: ignore[untyped-decorator]
def _fake_out(mask: Tensor, connectivity: int, spatial_dims: int, *, out: Tensor) -> Tensor:
    """`out` itself."""
    check_ranges(mask, connectivity, spatial_dims)
    check_out(mask, out, _labels_dtype(mask, connectivity, spatial_dims))
    return out


@torch.library.register_fake("breakeven::component_count")  # type: ignore[untyped-decorator]
def _fake_count(mask: Tensor, connectivity: int, spatial_dims: int) -> Tensor:
    """One number a volume."""
    check_ranges(mask, connectivity, spatial_dims)
    return mask.new_empty(mask.shape[: mask.ndim - spatial_dims], dtype=torch.int64)


@torch.ops.breakeven.connected_components.out.py_functionalize_impl
def _functionalized_out(
    context: Any, mask: Tensor, connectivity: int, spatial_dims: int, *, out: Tensor
) -> Tensor:
    """In a functional graph: labels of their own, then what `out` holds from there on.

    torch 2.13 finds no such form by itself where a custom operator returns its own argument.
    """
    with context.redispatch_to_next():
        labels = torch.ops.breakeven.connected_components.default(
            context.unwrap_tensors(mask), connectivity, spatial_dims
        ).to(out.dtype)
    context.replace(out, labels)
    context.commit_update(out)
    context.sync(out)
    return out
