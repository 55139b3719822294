"""Compositions of standard PyTorch operators, all differentiable by autograd.

Only sums over the background and over each lesion are needed. Sums are in float64: in float32,
`index_add_` loses 8e-5 of a background of 128^3 voxels.
"""

import torch
from torch import Tensor

from kernels.lesion_loss.arguments import (
    MAX_LABEL,
    check_arguments,
    check_label_range,
    result_dtype,
)
from kernels.operator import Composition


def lesion_voxels(logits: Tensor, labels: Tensor, *, kind: str = "blob") -> Tensor:
    """Sum the background densely and the few lesion voxels by index.

    Not for `torch.compile(fullgraph=True)`: the number of lesion voxels depends on data.
    """
    check_arguments(logits, labels, kind)
    num_samples = logits.shape[0]
    probability, label = _probability(logits).flatten(1), labels.flatten(1)
    background = torch.where(label == 0, probability, 0).sum(1, dtype=torch.float64)
    sample, voxel = label.nonzero(as_tuple=True)
    lesion = label[sample, voxel].long()
    smallest, largest = (int(x) for x in lesion.aminmax()) if lesion.numel() else (0, 0)
    check_label_range(smallest, largest)
    row = sample * (largest + 1) + lesion
    inside = probability[sample, voxel].double()
    sums = inside.new_zeros(num_samples * (largest + 1)).index_add(0, row, inside)
    sizes = torch.bincount(row, minlength=len(sums))
    shape = (num_samples, largest + 1)
    return _loss(background, sums.view(shape), sizes.view(shape)).to(result_dtype(logits))


def all_voxels(logits: Tensor, labels: Tensor, *, kind: str = "blob") -> Tensor:
    """Sum every voxel by index into a table of fixed width: no shape depends on data.

    Labels out of range raise from the indexing itself. Eager it is deterministic; compiled for the
    CPU, the sums may be atomic, and are then rounded in no fixed order.
    """
    check_arguments(logits, labels, kind)
    num_samples = logits.shape[0]
    probability, label = _probability(logits).flatten(1).double(), labels.flatten(1).long()
    sums = probability.new_zeros(num_samples, MAX_LABEL + 1)
    sizes = torch.zeros_like(sums).scatter_add(1, label, torch.ones_like(probability))
    sums = sums.scatter_add(1, label, probability)
    is_lesion = torch.arange(MAX_LABEL + 1, device=sums.device) > 0
    return _loss(sums[:, 0], sums, sizes * is_lesion).to(result_dtype(logits))


def lesion_loop(logits: Tensor, labels: Tensor, *, kind: str = "blob") -> Tensor:
    """Mask and sum once for each lesion, as loops over lesions are published.

    Not for `torch.compile(fullgraph=True)`: the number of lesions depends on data.
    """
    check_arguments(logits, labels, kind)
    probability = _probability(logits)
    losses = [_loop_sample(*sample) for sample in zip(probability, labels, strict=True)]
    loss = torch.stack(losses).mean() if losses else probability.sum(dtype=torch.float64)
    return loss.to(result_dtype(logits))


def _loop_sample(probability: Tensor, labels: Tensor) -> Tensor:
    present = torch.unique(labels)
    if present.numel():
        check_label_range(int(present[0]), int(present[-1]))
    losses = []
    for lesion in present[present > 0]:
        is_lesion = labels == lesion
        judged = probability * (is_lesion | (labels == 0))
        inside = (judged * is_lesion).sum(dtype=torch.float64)
        losses.append(1 - 2 * inside / (judged.sum(dtype=torch.float64) + is_lesion.sum()))
    if losses:
        return torch.stack(losses).mean()
    return _empty_loss(probability.sum(dtype=torch.float64))


def _probability(logits: Tensor) -> Tensor:
    """Probabilities in the result's dtype: half precision would round them too far."""
    return torch.sigmoid(logits.to(result_dtype(logits)))


def _empty_loss(background: Tensor) -> Tensor:
    return background / (1 + background)


def _loss(background: Tensor, inside: Tensor, sizes: Tensor) -> Tensor:
    """Loss from the sums of probability over the background (N) and over each lesion (N, K).

    A lesion whose size (N, K) is 0 is absent.
    """
    if not background.numel():
        return background.sum()
    is_present = sizes > 0
    outside = background[:, None]
    lesion_loss = (outside + sizes - inside) / (outside + sizes + inside + ~is_present)
    num_lesions = is_present.sum(1)
    mean = (lesion_loss * is_present).sum(1) / num_lesions.clamp(min=1)
    return torch.where(num_lesions > 0, mean, _empty_loss(background)).mean()


COMPOSITIONS = (
    Composition(
        "lesion_voxels", lesion_voxels, "dense background sum, lesion voxels by nonzero + index_add"
    ),
    Composition("all_voxels", all_voxels, "scatter_add of every voxel into a table of fixed width"),
    Composition("lesion_loop", lesion_loop, "one masked soft Dice for each lesion"),
)
