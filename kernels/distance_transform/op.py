"""The registered operator `breakeven::distance_transform`: public function, fake, autograd.

The result is piecewise constant in the mask: it has no gradient, and says so by not requiring one.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from kernels.distance_transform.arguments import read_arguments
from kernels.load import ensure_loaded

ensure_loaded(Path(__file__).parent, "breakeven", "distance_transform")


def distance_transform(
    mask: torch.Tensor,
    spacing: Sequence[float] | None = None,
    *,
    spatial_dims: int | None = None,
) -> torch.Tensor:
    """Distance of every nonzero voxel to the nearest zero voxel: float32, of the mask's shape.

    `spacing` gives the size of a voxel along each spatial axis, and the result its unit; 1 without.
    The last `spatial_dims` axes are spatial (1 to 3; all without it), those before are batch axes.
    A volume without zero voxels is +inf throughout. Not differentiable.

    Raises:
        ValueError: not 1 to 3 spatial axes, or not one finite spacing > 0 for each.
    """
    steps, dims = read_arguments(mask, spacing, spatial_dims)
    result: torch.Tensor = torch.ops.breakeven.distance_transform(mask, steps, dims)
    return result


@torch.library.register_fake("breakeven::distance_transform")  # type: ignore[untyped-decorator]
def _fake(mask: torch.Tensor, spacing: list[float], spatial_dims: int) -> torch.Tensor:
    return mask.new_empty(mask.shape, dtype=torch.float32)


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    ctx.mark_non_differentiable(output)


def _backward(ctx: Any, grad: torch.Tensor) -> tuple[None, None, None]:
    return None, None, None


torch.library.register_autograd(
    "breakeven::distance_transform", _backward, setup_context=_setup_context
)
