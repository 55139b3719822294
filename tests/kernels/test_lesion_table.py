"""The lesion table: rows known by hand, and one exported graph from mask to table."""

from math import inf

import pytest
import torch
from torch import Tensor

from kernels.connected_components import connected_components
from kernels.connected_components.cases import lesion_mask, noise
from kernels.connected_components.standard import COMPOSITIONS
from kernels.connected_components.table import COLUMNS, lesion_table
from kernels.operator import Implementation

SPACING = (2.0, 1.0, 0.5)
LABELLERS: dict[str, Implementation] = {
    "operator": connected_components,
    **{composition.name: composition.call for composition in COMPOSITIONS},
}


class Report(torch.nn.Module):
    """Mask and maps in, lesion table out: the tail of the product's report graph."""

    def __init__(self, call: Implementation) -> None:
        super().__init__()
        self.call = call

    def forward(self, probability: Tensor, distance: Tensor) -> Tensor:
        labels = self.call(probability > 0.5, spatial_dims=3)[0, 0]
        return lesion_table(labels, probability[0, 0], distance[0, 0], SPACING)


def row_by_row(labels: Tensor, probability: Tensor, distance: Tensor) -> Tensor:
    """The same table in plain Python, one lesion after the other."""
    rows = []
    for label in range(1, int(labels.max()) + 1):
        voxels = (labels == label).nonzero().to(torch.float64)
        inside = labels == label
        rows.append(
            [
                len(voxels),
                len(voxels) * SPACING[0] * SPACING[1] * SPACING[2],
                *(voxels.mean(0) * torch.tensor(SPACING)).tolist(),
                float(probability[inside].to(torch.float64).mean()),
                float(distance[inside].min()),
            ]
        )
    return torch.tensor(rows, dtype=torch.float32).reshape(-1, len(COLUMNS))


def maps(seed: int, num_lesions: int) -> tuple[Tensor, Tensor]:
    """Probability, above one half on lesions alone, and distance: (1, 1, 9, 20, 17) float32."""
    generator = torch.Generator().manual_seed(seed)
    shape = (9, 20, 17)
    values = 0.01 + 0.48 * torch.rand(shape, generator=generator)
    mask = lesion_mask(shape, num_lesions, seed)
    probability = torch.where(mask, 1 - values, values)
    distance = 30 * torch.rand(shape, generator=generator)
    return probability[None, None], distance[None, None]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_equals_row_by_row(seed: int) -> None:
    """Every column of every lesion, on lesion-like masks."""
    probability, distance = (values[0, 0] for values in maps(seed, 4))
    labels = connected_components(probability > 0.5)
    table = lesion_table(labels, probability, distance, SPACING)
    # Both accumulate in float64 and round to float32 once: half a unit in the last place each.
    torch.testing.assert_close(
        table, row_by_row(labels, probability, distance), rtol=1.2e-7, atol=0.0
    )


def test_rows_known_by_hand() -> None:
    """Two lesions in an image: z is 0, and the volume is the area at 1 mm of thickness."""
    labels = torch.tensor([[1, 1, 0], [0, 0, 0], [0, 2, 0]], dtype=torch.int32)
    probability = torch.tensor([[0.75, 0.25, 1], [1, 1, 1], [1, 0.5, 1]])
    distance = torch.tensor([[3.0, 2, 0], [0, 0, 0], [0, inf, 0]])
    table = lesion_table(labels, probability, distance, (3.0, 2.0))
    assert table.tolist() == [[2, 12, 0, 0, 1, 0.5, 2], [1, 6, 0, 6, 2, 0.5, inf]]


@pytest.mark.parametrize("shape", [(3, 4, 5), (4, 5), (0, 4, 5)])
def test_no_lesion_gives_no_row(shape: tuple[int, ...]) -> None:
    """A clean case has an empty table of the full width, not an error."""
    zeros = torch.zeros(shape)
    table = lesion_table(zeros.to(torch.int32), zeros, zeros, (1.0,) * len(shape))
    assert table.shape == (0, len(COLUMNS))


def test_layout_does_not_matter() -> None:
    """Column-major labels with row-major maps give the same table."""
    probability, distance = (values[0, 0] for values in maps(3, 4))
    labels = connected_components(probability > 0.5)
    column_major = labels.permute(2, 1, 0).contiguous().permute(2, 1, 0)
    expected = lesion_table(labels, probability, distance, SPACING)
    assert torch.equal(lesion_table(column_major, probability, distance, SPACING), expected)


def test_mean_probability_of_a_large_lesion_is_accurate() -> None:
    """A running float32 sum over two million voxels would drift; a float64 one does not."""
    labels = torch.ones((128, 128, 128), dtype=torch.int32)
    probability = torch.full(labels.shape, 0.9)
    table = lesion_table(labels, probability, probability, (1.0, 1.0, 1.0))
    assert table[0, 5] == probability[0, 0, 0]


@pytest.mark.parametrize("call", LABELLERS.values(), ids=LABELLERS)
def test_labelling_and_table_export_as_one_graph(call: Implementation) -> None:
    """The number of lesions is free: none, one and many come out of the same program."""
    program = torch.export.export(Report(call), maps(0, 4)).module()
    for seed, num_lesions in ((1, 0), (2, 1), (3, 3), (4, 9)):
        probability, distance = maps(seed, num_lesions)
        labels = connected_components(probability > 0.5, spatial_dims=3)[0, 0]
        expected = lesion_table(labels, probability[0, 0], distance[0, 0], SPACING)
        assert torch.equal(program(probability, distance), expected)


def test_image_table_exports() -> None:
    """Two-dimensional inputs export too."""

    class ImageReport(torch.nn.Module):
        def forward(self, mask: Tensor, values: Tensor) -> Tensor:
            labels = COMPOSITIONS[0].call(mask)
            return lesion_table(labels, values, values, (1.0, 2.0))

    values = torch.rand((12, 13), generator=torch.Generator().manual_seed(0))
    program = torch.export.export(ImageReport(), (noise((12, 13), 0.3), values)).module()
    mask = noise((12, 13), 0.2, seed=2)
    expected = lesion_table(connected_components(mask), values, values, (1.0, 2.0))
    assert torch.equal(program(mask, values), expected)


@pytest.mark.parametrize(
    ("labels", "spacing", "message"),
    [
        (torch.zeros((2, 2, 2, 2), dtype=torch.int32), (1.0,) * 4, "2 or 3 axes, got 4"),
        (torch.zeros((2, 2)), (1.0, 1.0), "must be integers, got torch.float32"),
        (torch.zeros((2, 2), dtype=torch.int32), (1.0,), "2 positive numbers"),
        (torch.zeros((2, 2), dtype=torch.int32), (1.0, 0.0), "2 positive numbers"),
    ],
)
def test_what_does_not_fit_is_refused(
    labels: Tensor, spacing: tuple[float, ...], message: str
) -> None:
    """Rank, dtype and spacing are checked."""
    values = torch.zeros(labels.shape)
    with pytest.raises(ValueError, match=message):
        lesion_table(labels, values, values, spacing)


def test_maps_of_another_shape_are_refused() -> None:
    """A map that does not match is named."""
    labels = torch.zeros((2, 3), dtype=torch.int32)
    with pytest.raises(ValueError, match=r"distance must have the labels' shape \(2, 3\)"):
        lesion_table(labels, torch.zeros((2, 3)), torch.zeros((3, 2)), (1.0, 1.0))
