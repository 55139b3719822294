"""What one would train with instead: a plain Dice loss, and the sums by index of every voxel."""

from typing import Any

import torch
from torch import Tensor

from kernels.benchmark.scene import Call, Entrant, Inputs, NotApplicableError
from kernels.benchmark.work import with_gradient


def _dice_ce(inputs: Inputs) -> Call:
    from monai.losses import DiceCELoss

    loss = DiceCELoss(sigmoid=True)
    truth = (inputs.args[1] > 0).to(torch.float32)
    return lambda: with_gradient(
        lambda logits, *_, **__: loss(logits, truth), Inputs(inputs.args[:1])
    )


def _index_add(inputs: Inputs) -> Call:
    if inputs.keywords.get("kind", "blob") != "blob":
        raise NotApplicableError("blob loss only")
    return lambda: with_gradient(_blob_by_index_add, inputs)


def _blob_by_index_add(logits: Tensor, target: Tensor, **_: Any) -> Tensor:
    """Blob loss vectorised as it is usually written: one `index_add_` of all voxels in float32."""
    num_samples, num_labels = logits.shape[0], int(target.max()) + 1
    probability = torch.sigmoid(logits).flatten(1)
    offset = torch.arange(num_samples)[:, None] * num_labels
    row = (target.flatten(1).long() + offset).flatten()
    empty = probability.new_zeros(num_samples * num_labels)
    sums = empty.index_add(0, row, probability.flatten()).view(num_samples, num_labels)
    sizes = empty.index_add(0, row, torch.ones_like(row, dtype=empty.dtype)).view_as(sums)
    inside, size, background = sums[:, 1:], sizes[:, 1:], sums[:, :1]
    cost = 1 - 2 * inside / (background + inside + size)
    is_present = size > 0
    return ((cost * is_present).sum(1) / is_present.sum(1)).mean()


LOSS_PEERS = (
    Entrant("MONAI DiceCE", "yardstick", _dice_ce, "monai"),
    Entrant("index_add_", "composition", _index_add),
)
