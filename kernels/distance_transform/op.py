"""The registered operator `breakeven::distance_transform`: public function, fakes, autograd.

The result is piecewise constant in the mask: it has no gradient, and says so by not requiring one.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, overload

import torch

from kernels.distance_transform.arguments import check_out, read_arguments
from kernels.load import ensure_loaded

ensure_loaded(Path(__file__).parent, "breakeven", "distance_transform")


@overload
def distance_transform(
    mask: torch.Tensor,
    spacing: Sequence[float] | None = None,
    *,
    signed: bool = False,
    return_nearest: Literal[False] = False,
    spatial_dims: int | None = None,
    out: torch.Tensor | None = None,
) -> torch.Tensor: ...


@overload
def distance_transform(
    mask: torch.Tensor,
    spacing: Sequence[float] | None = None,
    *,
    signed: bool = False,
    return_nearest: Literal[True],
    spatial_dims: int | None = None,
    out: None = None,
) -> tuple[torch.Tensor, torch.Tensor]: ...


def distance_transform(
    mask: torch.Tensor,
    spacing: Sequence[float] | None = None,
    *,
    signed: bool = False,
    return_nearest: bool = False,
    spatial_dims: int | None = None,
    out: torch.Tensor | None = None,
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    """Distance of every nonzero voxel to the nearest zero voxel: float32, of the mask's shape.

    `spacing` gives the size of a voxel along each spatial axis, and the result its unit; 1 without.
    The last `spatial_dims` axes are spatial (1 to 3; all without it), those before are batch axes.
    A zero voxel has distance 0; a volume without zero voxels is +inf throughout. Distance to a
    lesion: pass the inverted mask. Each value is at most one unit in the last place from the truth.

    `signed`: a zero voxel has minus its distance to the nearest nonzero voxel. A volume of nonzero
    voxels alone is +inf throughout, one of zero voxels alone -inf.

    `return_nearest`: gives (distances, nearest), where nearest (int64) is the flat index, within
    its volume in raster order, of the voxel that the distance leads to: of those at equal distance
    the smallest; -1 where there is none. Without `signed` a zero voxel leads to itself.

    `out`: a contiguous float32 tensor of the mask's shape, apart from it in memory, to write the
    distances to; it is returned.

    Not differentiable.

    Raises:
        ValueError: not 1 to 3 spatial axes, not one finite spacing > 0 for each, or `out` together
            with `return_nearest`.
        RuntimeError: the mask is complex, or `out` cannot be written to as said.
    """
    steps, dims = read_arguments(mask, spacing, spatial_dims)
    operators = torch.ops.breakeven
    if return_nearest:
        if out is not None:
            raise ValueError("out holds distances alone: pass out or return_nearest, not both")
        distances, nearest = operators.distance_transform_nearest(mask, steps, dims, signed)
        return distances, nearest
    if out is not None and not torch.compiler.is_compiling():
        operators.distance_transform.out(mask.detach(), steps, dims, signed, out=out)
        return out
    result: torch.Tensor = operators.distance_transform(mask, steps, dims, signed)
    if out is not None:
        # A compiler takes no operator of others whose result is its argument, and plans memory
        # itself; what it does not check is what copying would bend.
        check_out(mask, out)
        return out.copy_(result)
    return result


@torch.library.register_fake("breakeven::distance_transform")  # type: ignore[untyped-decorator]
def _fake(
    mask: torch.Tensor, spacing: list[float], spatial_dims: int, signed: bool = False
) -> torch.Tensor:
    return mask.new_empty(mask.shape, dtype=torch.float32)


@torch.library.register_fake(  # type: ignore[untyped-decorator]
    "breakeven::distance_transform.out"
)
def _fake_out(
    mask: torch.Tensor,
    spacing: list[float],
    spatial_dims: int,
    signed: bool = False,
    *,
    out: torch.Tensor,
) -> torch.Tensor:
    return out


@torch.library.register_fake(  # type: ignore[untyped-decorator]
    "breakeven::distance_transform_nearest"
)
def _fake_nearest(
    mask: torch.Tensor, spacing: list[float], spatial_dims: int, signed: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    distances = mask.new_empty(mask.shape, dtype=torch.float32)
    return distances, mask.new_empty(mask.shape, dtype=torch.int64)


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    ctx.mark_non_differentiable(*(output if isinstance(output, tuple) else (output,)))


def _backward(ctx: Any, *grads: torch.Tensor) -> tuple[None, None, None, None]:
    return None, None, None, None


for _name in ("distance_transform", "distance_transform_nearest"):
    torch.library.register_autograd(f"breakeven::{_name}", _backward, setup_context=_setup_context)
