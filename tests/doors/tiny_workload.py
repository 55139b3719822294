"""A workload brought from outside: two convolutions on 2-D slices, small enough for tests."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from stages.contract import Case, DataShape, Operators, ReadCase, Sample, Workload


def make() -> Workload:
    """The factory that `training.workload` names."""
    return Workload(
        name="tiny",
        make_model=make_model,
        make_loss=make_loss,
        make_samples=make_samples,
        augment=augment,
        score_case=score_case,
        make_report=Report,
        report_columns=("foreground", "most_neighbours"),
    )


def make_model(shape: DataShape) -> nn.Module:
    """Two convolutions."""
    return nn.Sequential(
        nn.Conv2d(shape.num_channels, shape.base_channels, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(shape.base_channels, shape.num_classes, 3, padding=1),
    )


def make_loss(operators: Operators) -> Callable[[Tensor, Sample], Tensor]:
    """Cross-entropy; it needs no operator."""
    return lambda logits, batch: nn.functional.cross_entropy(logits, batch["label"][:, 0])


def make_samples(cases: Sequence[Case], read_case: ReadCase, shape: DataShape) -> Sequence[Sample]:
    """Cases padded to the working shape."""
    return [make_sample(case, read_case, shape) for case in cases]


def make_sample(case: Case, read_case: ReadCase, shape: DataShape) -> Sample:
    """One case as tensors."""
    image, label = read_case(case)
    padding = [(0, w - n) for w, n in zip(shape.working_shape, label.shape, strict=True)]
    label = np.pad(label, padding)
    return {
        "image": torch.as_tensor(np.pad(image, [(0, 0), *padding]) / 255, dtype=torch.float32),
        "label": torch.as_tensor(label[None], dtype=torch.int64),
        "instances": torch.as_tensor(label[None] > 0, dtype=torch.int32),
    }


def augment(sample: Sample, seed: int) -> Sample:
    """Mirror by the seed's last bit."""
    return {k: v.flip(-1) for k, v in sample.items()} if seed % 2 else sample


def score_case(
    predicted: NDArray[Any], true: NDArray[Any], spacing_mm: tuple[float, ...]
) -> Mapping[str, float]:
    """Dice of the foreground under the names that the product may choose from."""
    both, total = np.sum((predicted > 0) & (true > 0)), np.sum(predicted > 0) + np.sum(true > 0)
    dice = float(2 * both / total) if total else 1.0
    return {"dice": dice, "lesion_f1": dice, "lesion_recall": dice}


class Report(nn.Module):
    """Mask, and the largest number of foreground neighbours in it."""

    def __init__(self, model: nn.Module, operators: Operators, shape: DataShape) -> None:
        super().__init__()
        self.model = model
        self.count = operators.get("neighbour_count", count_by_pooling)

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor]:
        """From (1, C, rows, columns) to mask (1, 1, rows, columns) and report (1, 2)."""
        mask = self.model(image).argmax(1, keepdim=True).to(torch.uint8)
        neighbours = self.count(mask)
        return mask, torch.stack([mask.sum().float(), neighbours.max()])[None]


def count_by_pooling(mask: Tensor) -> Tensor:
    """The workload's own way."""
    inside = (mask != 0).float()
    return nn.functional.avg_pool2d(inside, 3, 1, 1, count_include_pad=True) * 9 - inside
