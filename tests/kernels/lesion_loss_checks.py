"""What the tests of the lesion-wise loss share."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from kernels.lesion_loss.op import lesion_loss
from kernels.lesion_loss.reference import reference, voronoi_regions
from kernels.lesion_loss.spec import SPEC
from kernels.lesion_loss.standard import COMPOSITIONS
from kernels.operator import Implementation

OP = torch.ops.breakeven.lesion_loss.default
OP_BACKWARD = torch.ops.breakeven.lesion_loss_backward.default
COMPOSITION_CALLS = tuple(composition.call for composition in COMPOSITIONS)
IMPLEMENTATIONS = (lesion_loss, *COMPOSITION_CALLS)
EVERY = pytest.mark.parametrize("call", IMPLEMENTATIONS, ids=lambda call: call.__name__)
BOTH_KINDS = pytest.mark.parametrize("kind", ["blob", "cc_dice_ce"])
# Half precision rounds the gradient itself: by half a unit in the last place, or half the smallest
# subnormal. The operator's exponential is 0 below the smallest normal float32.
ROUNDING = {torch.float16: (5e-4, 3e-8), torch.bfloat16: (4e-3, 1e-37)}


def value_and_gradient(
    call: Implementation, logits: Tensor, target: Tensor, *, scale: float = 1.0, **options: Any
) -> tuple[Tensor, Tensor]:
    """The loss, and the gradient of `scale` times it."""
    leaf = logits.detach().clone().requires_grad_()
    loss = call(leaf, target, **options)
    (scale * loss).backward()
    assert leaf.grad is not None
    return loss.detach(), leaf.grad


def assert_close(call: Implementation, logits: Tensor, target: Tensor, **options: Any) -> None:
    """Loss within the spec's tolerance, gradient within 1e-6 of the largest element's."""
    loss, gradient = value_and_gradient(call, logits, target, **options)
    expected, expected_gradient = value_and_gradient(reference, logits.double(), target, **options)
    tolerance = SPEC.tolerances["default"]
    assert loss.item() == pytest.approx(
        expected.item(), rel=tolerance.relative, abs=tolerance.absolute
    )
    if not target.numel():
        return
    relative, absolute = ROUNDING.get(logits.dtype, (1e-6, 1e-37))
    if call in COMPOSITION_CALLS:
        # autograd's p (1 - p) is off by half a unit in the last place of p, times dloss/dp
        absolute += torch.finfo(loss.dtype).eps * largest_slope(logits, target, **options)
    error = (gradient.double() - expected_gradient).abs()
    assert (error <= relative * expected_gradient.abs().max() + absolute).all()


def largest_slope(
    logits: Tensor,
    target: Tensor,
    *,
    kind: str = "blob",
    regions: Tensor | None = None,
    spacing: Sequence[float] | None = None,
    ignore: Tensor | None = None,
    sample_weights: Tensor | None = None,
) -> float:
    """The largest derivative with respect to a voxel's probability or cross-entropy."""
    if kind == "cc_dice_ce" and regions is None:
        regions = voronoi_regions(target if ignore is None else target * ~ignore, spacing)
    _, coefficients = OP(logits.detach(), target, kind, regions, ignore, sample_weights)
    return float(coefficients.abs().max())
