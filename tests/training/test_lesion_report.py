"""The inference graph of the bundled workload."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from blob_cases import make_shape
from torch import Tensor, nn

from kernels.connected_components.table import COLUMNS
from stages.contract import DataShape
from stages.training.lesion_segmentation import make
from stages.training.lesion_segmentation.report import most_likely

SHAPES = {
    "3-D": replace(
        make_shape(), case_shape=(20, 24, 18), spacing_mm=(1.5, 1.0, 2.0), fit="resample"
    ),
    "2-D": replace(
        make_shape((32, 16), num_classes=3),
        case_shape=(40, 30),
        spacing_mm=(0.5, 2.0),
        fit="resample",
    ),
}


class BrightIsLesion(nn.Module):
    """Calls every voxel above 2 a lesion of class 1: logits known by hand."""

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        self._num_classes = num_classes

    def forward(self, image: Tensor) -> Tensor:
        lesion = image[:, :1] - 2
        others = [torch.full_like(lesion, -9)] * (self._num_classes - 2)
        return torch.cat((-lesion, lesion, *others), 1)


def make_image(shape: DataShape) -> Tensor:
    """A head of ones within zeros, with two bright lesions."""
    image = torch.zeros(1, 1, *shape.case_shape)
    image[(..., *(slice(2, -2) for _ in shape.case_shape))] = 1
    image[(..., *(slice(4, 7) for _ in shape.case_shape))] = 5
    image[(..., *(slice(-8, -5) for _ in shape.case_shape))] = 5
    return image


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_mask_and_report_agree_with_the_contract(shape: DataShape) -> None:
    """Shapes, dtypes and column names, for one network of chance weights."""
    workload = make()
    mask, report = workload.make_report(workload.make_model(shape), {}, shape)(make_image(shape))
    assert mask.shape == (1, 1, *shape.case_shape)
    assert mask.dtype == torch.uint8
    assert report.dtype == torch.float32
    assert report.shape[1] == len(workload.report_columns) == len(COLUMNS)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_the_exported_graph_gives_the_same(shape: DataShape) -> None:
    """Another image than the one that it was exported with, with another number of lesions."""
    report = make().make_report(BrightIsLesion(shape.num_classes), {}, shape)
    image = make_image(shape)
    graph = torch.export.export(report, (image,), strict=False).module()
    other = image.clone()
    other[(..., *(slice(4, 7) for _ in shape.case_shape))] = 1
    for case, num_lesions in ((image, 2), (other, 1), (torch.zeros_like(image), 0)):
        for expected, got in zip(report(case), graph(case), strict=True):
            assert torch.equal(got, expected)
        assert len(report(case)[1]) == num_lesions


def test_the_report_says_where_a_lesion_is() -> None:
    """At one resolution, by hand: 27 voxels of 2 mm3 about (5, 5, 5), 3 voxels from the surface."""
    shape = replace(make_shape(), spacing_mm=(1.0, 1.0, 2.0))
    image = make_image(shape)
    image[..., -8:-5, -8:-5, -8:-5] = 1
    _, report = make().make_report(BrightIsLesion(2), {}, shape)(image)
    row = dict(zip(COLUMNS, report[0].tolist(), strict=True))
    assert len(report) == 1
    assert row["voxels"] == 27
    assert row["volume_mm3"] == 54
    assert [row[f"centroid_{axis}_mm"] for axis in "zyx"] == [5, 5, 10]
    assert row["mean_probability"] == pytest.approx(torch.sigmoid(torch.tensor(6.0)).item())
    # Voxel 4 is the lesion's first, voxel 1 the last outside the head: 3 steps of the smaller 1 mm.
    assert row["min_distance"] == 3


def test_handles_take_the_place_of_the_standard_forms() -> None:
    """The pipeline's operators are called, with mask, spacing and number of axes as agreed."""
    shape = SHAPES["3-D"]
    calls: list[tuple[str, Any]] = []

    def label(mask: Tensor, connectivity: int | None = None, *, spatial_dims: int) -> Tensor:
        calls.append(("label", (mask.shape, mask.dtype, connectivity, spatial_dims)))
        return mask.to(torch.int32)

    def measure(mask: Tensor, spacing: tuple[float, ...], *, spatial_dims: int) -> Tensor:
        calls.append(("measure", (mask.shape, mask.dtype, spacing, spatial_dims)))
        return mask * 7.0

    operators = {"connected_components": label, "distance_transform": measure}
    _, report = make().make_report(BrightIsLesion(2), operators, shape)(make_image(shape))
    full = (1, 1, *shape.case_shape)
    assert dict(calls) == {
        "label": (full, torch.bool, None, 3),
        "measure": (full, torch.bool, shape.spacing_mm, 3),
    }
    assert report[:, COLUMNS.index("min_distance")].tolist() == [7.0]


def test_the_most_likely_class_is_argmax() -> None:
    """Ties included: the first class wins."""
    logits = torch.randint(0, 3, (1, 4, 9, 9), generator=torch.Generator().manual_seed(0)).float()
    assert torch.equal(most_likely(logits).long(), logits.argmax(1, keepdim=True))
    assert most_likely(logits).dtype == torch.uint8
