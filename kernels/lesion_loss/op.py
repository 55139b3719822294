"""Public function, shape rules and gradient; the kernel is C++ on the stable ABI."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from kernels.lesion_loss.arguments import MAX_LABEL, check_arguments, result_dtype
from kernels.load import ensure_loaded

ensure_loaded(Path(__file__).parent, "breakeven", "lesion_loss")


def lesion_loss(logits: Tensor, labels: Tensor, *, kind: str = "blob") -> Tensor:
    """Compute a loss in which every lesion counts the same; `reference.py` defines it.

    One pass over the voxels, and one more for the gradient, however many lesions. The result does
    not depend on the number of threads, bit by bit. CPU only so far.

    Args:
        logits: (N, 1, H, W) or (N, 1, D, H, W), float32, float64, float16 or bfloat16.
        labels: of the same shape, int32, int64 or uint8: 0 for background, 1 to 16383 for the
            lesions of each sample, in any order, with gaps or without.
        kind: "blob".

    Returns:
        Scalar from 0 to 1, float64 for float64 logits, else float32. Differentiable once with
        respect to the logits; the gradient is contiguous.

    Raises:
        ValueError: kind, dtype or shape.
        RuntimeError: a label out of range; the gradient of the gradient is asked for.
    """
    check_arguments(logits, labels, kind)
    loss: Tensor
    loss, _ = torch.ops.breakeven.lesion_loss(logits, labels, kind)
    return loss


def _fake(logits: Tensor, labels: Tensor, kind: str) -> tuple[Tensor, Tensor]:
    """Scalar loss, and by sample and label the derivative with respect to a voxel's probability."""
    check_arguments(logits, labels, kind)
    loss = logits.new_empty((), dtype=result_dtype(logits))
    return loss, logits.new_empty((logits.shape[0], MAX_LABEL + 1), dtype=torch.float64)


def _fake_backward(grad: Tensor, logits: Tensor, labels: Tensor, coefficients: Tensor) -> Tensor:
    """The gradient is contiguous, in the dtype of the logits."""
    return logits.new_empty(logits.shape)


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    logits, labels, _ = inputs
    _, coefficients = output
    ctx.mark_non_differentiable(coefficients)
    ctx.save_for_backward(logits, labels, coefficients)


def _backward(ctx: Any, grad: Tensor, _: Tensor | None) -> tuple[Tensor, None, None]:
    return torch.ops.breakeven.lesion_loss_backward(grad, *ctx.saved_tensors), None, None


def _refuse_second_gradient(ctx: Any, grad: Tensor) -> None:
    raise RuntimeError("lesion_loss: it is differentiable once, not twice")


torch.library.register_fake("breakeven::lesion_loss", _fake)
torch.library.register_fake("breakeven::lesion_loss_backward", _fake_backward)
torch.library.register_autograd("breakeven::lesion_loss", _backward, setup_context=_setup_context)
torch.library.register_autograd("breakeven::lesion_loss_backward", _refuse_second_gradient)
