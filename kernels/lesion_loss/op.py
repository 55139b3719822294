"""Public function, shape rules and gradient; the kernel is C++ on the stable ABI."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from kernels.lesion_loss.arguments import (
    COEFFICIENT_ROWS,
    MAX_LABEL,
    check_arguments,
    check_spacing,
    check_target,
    result_dtype,
)
from kernels.load import ensure_loaded

ensure_loaded(Path(__file__).parent, "breakeven", "lesion_loss")


def lesion_loss(
    logits: Tensor,
    target: Tensor,
    *,
    kind: str = "blob",
    regions: Tensor | None = None,
    spacing: Sequence[float] | None = None,
    ignore: Tensor | None = None,
    sample_weights: Tensor | None = None,
) -> Tensor:
    """Compute a loss in which every lesion counts the same; `reference.py` defines it.

    One pass over the voxels, and one more for the gradient, however many lesions. The result does
    not depend on the number of threads, bit by bit. CPU only so far.

    Args:
        logits: (N, 1, H, W) or (N, 1, D, H, W), float32, float64, float16 or bfloat16.
        target: of the same shape, int32, int64 or uint8: 0 for background, 1 to 16383 for the
            lesions of each sample, in any order, with gaps or without. A mask of zeros and ones
            is one lesion: number it with `kernels.connected_components` first.
        kind: "blob", soft Dice of each lesion against all background, or "cc_dice_ce", soft Dice
            plus cross-entropy of each lesion within the voxels nearest to it.
        regions: for "cc_dice_ce", what `voronoi_regions` returns, or other regions, so that they
            are computed once and not at every call; the target may then be a bool mask.
        spacing: for "cc_dice_ce" without regions, the size of a voxel along each spatial axis.
        ignore: bool, of the same shape: true where a voxel is in no sum and has no gradient.
        sample_weights: (N,), float32 or float64: factors of the samples' losses, whose mean over
            the number of samples is returned.

    Returns:
        Scalar >= 0, float64 for float64 logits, else float32. Differentiable once with respect to
        the logits; the gradient is contiguous. Kept until then: the inputs, regions (2 bytes a
        voxel where they were computed) and a table of 128 KiB a sample, thrice for "cc_dice_ce".

    Raises:
        ValueError: kind, dtype, shape, options that do not go together.
        RuntimeError: a label out of range; the gradient of the gradient is asked for.
    """
    check_arguments(logits, target, kind, regions, spacing, ignore, sample_weights)
    if kind == "cc_dice_ce" and regions is None:
        regions = voronoi_regions(target, spacing, ignore=ignore)
    loss: Tensor
    loss, _ = torch.ops.breakeven.lesion_loss(logits, target, kind, regions, ignore, sample_weights)
    return loss


def voronoi_regions(
    target: Tensor, spacing: Sequence[float] | None = None, *, ignore: Tensor | None = None
) -> Tensor:
    """Number of the lesion nearest to each voxel: int16, of the target's shape.

    They depend on the target alone: a data loader computes them once, and `lesion_loss` takes them.

    Args:
        target: (N, 1, H, W) or (N, 1, D, H, W), int32, int64 or uint8: 0 for background, 1 to 16383
            for the lesions. A sample without lesions is 0 throughout.
        spacing: the size of a voxel along each spatial axis; 1 without.
        ignore: bool, of the same shape: true where a voxel counts as background.

    Raises:
        ValueError: dtype, shape or spacing.
        RuntimeError: a label out of range.
    """
    from kernels.distance_transform.op import distance_transform

    check_target(target)
    num_spatial_dims = target.ndim - 2
    if spacing is not None:
        check_spacing(spacing, num_spatial_dims)
    is_outside = target == 0 if ignore is None else (target == 0) | ignore
    _, nearest = distance_transform(
        is_outside, spacing, return_nearest=True, spatial_dims=num_spatial_dims
    )
    regions: Tensor = torch.ops.breakeven.lesion_regions(target, nearest)
    return regions


def _fake(
    logits: Tensor,
    target: Tensor,
    kind: str,
    regions: Tensor | None,
    ignore: Tensor | None,
    sample_weights: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """Scalar loss, and the coefficients of its gradient; csrc/lesion_loss.h says what they mean."""
    check_arguments(logits, target, kind, regions, None, ignore, sample_weights)
    shape = (logits.shape[0], COEFFICIENT_ROWS[kind], MAX_LABEL + 1)
    loss = logits.new_empty((), dtype=result_dtype(logits))
    return loss, logits.new_empty(shape, dtype=torch.float64)


def _fake_backward(
    grad: Tensor,
    logits: Tensor,
    target: Tensor,
    kind: str,
    regions: Tensor | None,
    ignore: Tensor | None,
    coefficients: Tensor,
) -> Tensor:
    """The gradient is contiguous, in the dtype of the logits."""
    return logits.new_empty(logits.shape)


def _fake_regions(target: Tensor, nearest: Tensor) -> Tensor:
    return target.new_empty(target.shape, dtype=torch.int16)


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    logits, target, ctx.kind, regions, ignore, _ = inputs
    _, coefficients = output
    ctx.mark_non_differentiable(coefficients)
    ctx.save_for_backward(logits, target, regions, ignore, coefficients)


def _backward(
    ctx: Any, grad: Tensor, _: Tensor | None
) -> tuple[Tensor, None, None, None, None, None]:
    logits, target, regions, ignore, coefficients = ctx.saved_tensors
    gradient = torch.ops.breakeven.lesion_loss_backward(
        grad, logits, target, ctx.kind, regions, ignore, coefficients
    )
    return gradient, None, None, None, None, None


def _refuse_second_gradient(ctx: Any, grad: Tensor) -> None:
    raise RuntimeError("lesion_loss: it is differentiable once, not twice")


torch.library.register_fake("breakeven::lesion_loss", _fake)
torch.library.register_fake("breakeven::lesion_loss_backward", _fake_backward)
torch.library.register_fake("breakeven::lesion_regions", _fake_regions)
torch.library.register_autograd("breakeven::lesion_loss", _backward, setup_context=_setup_context)
torch.library.register_autograd("breakeven::lesion_loss_backward", _refuse_second_gradient)
