"""The inference graph: a mask at full resolution, and a report that lists every lesion."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from stages.contract import DataShape, Operators
from stages.training.lesion_segmentation.resizing import resize_linearly

HEAD_THRESHOLD = 0.1
"""The head is where channel 0 exceeds this part of its own mean over positive voxels: the threshold
follows the scanner's scale, and lies below fluid and above the noise of air."""


class LesionReport(nn.Module):
    """Network at the working shape, everything else at the shape of the deployed case.

    Exports with static shapes by `torch.export.export(..., strict=False)`; the number of lesions is
    the only size that depends on data."""

    def __init__(self, model: nn.Module, operators: Operators, shape: DataShape) -> None:
        super().__init__()
        self.model = model.eval()
        self._shape = shape
        self._label_components = operators.get("connected_components") or _standard_components()
        self._distance_to_background = operators.get("distance_transform") or _standard_distance()

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor]:
        """Segment and report one case.

        Args:
            image: (1, C, *case_shape) float32.

        Returns:
            Label values (1, 1, *case_shape) uint8, and one row a lesion (num_lesions, columns)
            float32. `min_distance` is that of the lesion's voxel nearest to the surface of the
            head, in mm; infinite where the head fills the image.
        """
        small_image = resize_linearly(image, self._shape.working_shape)
        logits = resize_linearly(self.model(small_image), self._shape.case_shape)
        mask = most_likely(logits)
        lesions = mask > 0
        num_dims = self._shape.num_spatial_dims
        spacing_mm = self._shape.spacing_mm
        labels = self._label_components(lesions, None, spatial_dims=num_dims)
        head = find_head(image, small_image)
        distance = self._distance_to_background(head, spacing_mm, spatial_dims=num_dims)
        probability = lesion_probability(logits)
        return mask, _table()(labels[0, 0], probability[0], distance[0, 0], spacing_mm)


def make_report(model: nn.Module, operators: Operators, shape: DataShape) -> nn.Module:
    """The inference graph; without a handle, an operator's best exportable composition serves."""
    return LesionReport(model, operators, shape).eval()


def most_likely(logits: Tensor) -> Tensor:
    """Class of the largest logit, the first of equals, (N, 1, *spatial) uint8.

    `argmax` over the channels takes 850 ms at 182x218x182 where this takes a few (two classes,
    torch 2.13, two busy cores).
    """
    largest = logits[:, :1]
    classes = torch.zeros_like(largest, dtype=torch.uint8)
    for value in range(1, logits.shape[1]):
        is_larger = logits[:, value : value + 1] > largest
        classes = torch.where(is_larger, value, classes)
        largest = torch.maximum(largest, logits[:, value : value + 1])
    return classes


def find_head(image: Tensor, small_image: Tensor) -> Tensor:
    """Where the head is, (1, 1, *spatial) bool; the mean is taken from the image in small."""
    positive = small_image[:, :1].clamp(min=0)
    mean = positive.sum() / (positive > 0).sum().clamp(min=1)
    return image[:, :1] > HEAD_THRESHOLD * mean


def lesion_probability(logits: Tensor) -> Tensor:
    """Probability of any foreground class, (N, *spatial)."""
    foreground = logits[:, 1] if logits.shape[1] == 2 else torch.logsumexp(logits[:, 1:], 1)
    return torch.sigmoid(foreground - logits[:, 0])


def _standard_components() -> Callable[..., Any]:
    from kernels.connected_components.standard import COMPOSITIONS

    return COMPOSITIONS[0].call


def _standard_distance() -> Callable[..., Any]:
    from kernels.distance_transform.standard import COMPOSITIONS

    return COMPOSITIONS[0].call


def _table() -> Callable[..., Tensor]:
    from kernels.connected_components.table import lesion_table

    return lesion_table
