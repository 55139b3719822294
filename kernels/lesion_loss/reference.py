"""The truth, readable and slow: each lesion by itself, in float64.

With p = sigmoid(logits), a lesion n of a sample is judged on the voxels that are background or n:

    dice_n = 2 * sum of p over n / (sum of p over background and n + number of voxels of n)

The sample's loss is the mean of 1 - dice_n over its lesions; a sample without lesions costs
S / (1 + S), with S its sum of p: soft Dice against an empty mask, smoothed by one voxel, so that a
false positive is never free. The loss is the mean over all samples of the batch; without samples it
is 0.

Where this differs from the code published with blob loss, and why:

- There, other lesions are masked by setting their *logits* to 0, after which they still count as
  p = 0.5 in the denominator: a lesion's loss then depends on how large its neighbours are. Here,
  masked voxels are in no sum.
- There is no smoothing term for a lesion: it has at least one voxel, so nothing divides by zero,
  and missing it costs 1 whatever its size; one voxel of smoothing would let a missed lesion of one
  voxel off with a half.
- There, a sample without lesions contributes nothing, so false positives in it are free.
"""

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from kernels.lesion_loss.arguments import check_arguments, check_label_range


def reference(logits: Tensor, labels: Tensor, *, kind: str = "blob") -> Tensor:
    """Compute the loss.

    Args:
        logits: (N, 1, H, W) or (N, 1, D, H, W), of a floating dtype; any value, NaN gives NaN.
        labels: of the same shape, int32, int64 or uint8: 0 for background, 1 to 16383 for the
            lesions of each sample, in any order. Absent numbers do not count, as after a crop.
        kind: "blob".

    Returns:
        Scalar, float64, from 0 to 1. Differentiable with respect to the logits.

    Raises:
        ValueError: kind, dtype, shape or a label out of range.
    """
    check_arguments(logits, labels, kind)
    if labels.numel():
        check_label_range(int(labels.min()), int(labels.max()))
    # sigmoid(x) itself has the derivative p (1 - p), which is 0 as soon as p rounds to 1.
    probability = logsigmoid(logits.double()).exp()
    samples = [_sample_loss(*sample) for sample in zip(probability, labels, strict=True)]
    return torch.stack(samples).mean() if samples else probability.sum()


def _sample_loss(probability: Tensor, labels: Tensor) -> Tensor:
    """Loss of one sample; both tensors (1, *spatial)."""
    lesions = sorted(set(labels.flatten().tolist()) - {0})
    if not lesions:
        false_positive = probability.sum()
        return false_positive / (1 + false_positive)
    return torch.stack([1 - _dice(probability, labels, n) for n in lesions]).mean()


def _dice(probability: Tensor, labels: Tensor, lesion: int) -> Tensor:
    """Soft Dice of one lesion, other lesions left out."""
    judged = (labels == 0) | (labels == lesion)
    predicted, truth = probability[judged], (labels == lesion)[judged].double()
    return 2 * (predicted * truth).sum() / (predicted.sum() + truth.sum())
