"""Dice and cross-entropy, and the lesion-wise term where the pipeline brings the operator."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from stages.contract import Operators, Sample

LESION_LOSS = "lesion_loss"
SMOOTHING = 1e-5


def make_loss(operators: Operators) -> Callable[[Tensor, Sample], Tensor]:
    """The loss of logits (N, K, *) and a batch; a mean over samples, so that batches can be split.

    With a handle for `lesion_loss`, its value on the foreground logit and the batch's instances is
    added."""
    lesion_loss = operators.get(LESION_LOSS)

    def loss(logits: Tensor, batch: Sample) -> Tensor:
        value = dice_cross_entropy(logits, batch["label"])
        if lesion_loss is None:
            return value
        lesion_term: Tensor = lesion_loss(foreground_logit(logits), batch["instances"])
        return value + lesion_term

    return loss


def dice_cross_entropy(logits: Tensor, label: Tensor) -> Tensor:
    """Soft Dice loss over foreground classes plus cross-entropy, each a mean over samples.

    Written here because MONAI's `DiceCELoss` reads values back (`.tolist()`), which the memory
    forecast on fake tensors cannot follow.

    Args:
        logits: (N, K, *).
        label: (N, 1, *) int64, 0 to K - 1.
    """
    classes = label[:, 0]
    cross_entropy = functional.cross_entropy(logits, classes)
    axes = tuple(range(2, logits.ndim))
    probability = torch.softmax(logits, 1)[:, 1:]
    foreground = torch.arange(1, logits.shape[1], device=logits.device)
    target = (label == foreground.view(1, -1, *(1,) * len(axes))).to(logits.dtype)
    overlap = (probability * target).sum(axes)
    total = probability.sum(axes) + target.sum(axes)
    dice = (2 * overlap + SMOOTHING) / (total + SMOOTHING)
    return cross_entropy + (1 - dice).mean()


def foreground_logit(logits: Tensor) -> Tensor:
    """Logit (N, 1, *) of "any foreground class" against the background."""
    return torch.logsumexp(logits[:, 1:], 1, keepdim=True) - logits[:, :1]
