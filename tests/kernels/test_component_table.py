"""The component table: against its reference, at any number of threads, and in graphs."""

import io
from typing import Any

import pytest
import torch
from component_masks import at_each_level, layouts, with_threads
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from kernels.connected_components import (
    ComponentTable,
    component_count,
    component_table,
    connected_components,
)
from kernels.connected_components.cases import checkerboard, lesion_mask, noise
from kernels.connected_components.reference import reference_count, reference_table

# Inductor, on its first import.
pytestmark = pytest.mark.filterwarnings(
    "ignore:`torch.jit.script_method` is deprecated:DeprecationWarning"
)

# Sums of at most a few thousand values of size 1 in float64: each addition rounds to 2^-53.
SUMS = {"rtol": 1e-12, "atol": 1e-12}


def same(table: ComponentTable, other: ComponentTable) -> bool:
    """Equal to the bit; NaN equals NaN."""
    pairs = zip(table, other, strict=True)
    return all(torch.equal(a.nan_to_num(nan=7e77), b.nan_to_num(nan=7e77)) for a, b in pairs)


def assert_is_reference(table: ComponentTable, truth: tuple[Tensor, ...]) -> None:
    """Counts, boxes, centroids and minima exactly; sums within their rounding."""
    names = ComponentTable._fields
    for name, part, expected in zip(names, table, truth, strict=True):
        tolerance = SUMS if name == "sums" else {"rtol": 0, "atol": 0}
        torch.testing.assert_close(part, expected, **tolerance, msg=lambda m, n=name: f"{n}: {m}")


def values_of(shape: Any, seed: int, dtype: torch.dtype = torch.float32) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(tuple(shape), generator=generator).to(dtype)


@st.composite
def calls(draw: st.DrawFn) -> tuple[Tensor, list[Tensor], int, int | None]:
    """Mask, values of several dtypes, connectivity, spatial_dims; with and without a batch."""
    spatial = draw(st.integers(1, 3))
    shape = [draw(st.integers(1, 7)) for _ in range(spatial - 1)]
    shape.append(draw(st.sampled_from([1, 2, 5, 16, 63, 64, 65, 130])))
    batched = spatial > 1 and draw(st.booleans())
    if batched:
        shape = draw(st.lists(st.integers(0, 3), min_size=1, max_size=2)) + shape
    seed = draw(st.integers(0, 2**20))
    mask = noise(shape, draw(st.sampled_from([0.0, 0.1, 0.3, 0.6, 1.0])), seed)
    dtypes = draw(st.lists(st.sampled_from(DTYPES), max_size=3))
    values = [values_of(shape, seed + index, dtype) for index, dtype in enumerate(dtypes)]
    return mask, values, draw(st.integers(1, spatial)), spatial if batched else None


DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


@settings(max_examples=120, deadline=None, derandomize=True)
@given(calls())
def test_equals_the_reference(call: tuple[Tensor, list[Tensor], int, int | None]) -> None:
    """Every column is right, in the order of the labels, on every instruction set."""
    mask, values, connectivity, spatial_dims = call
    truth = reference_table(mask, values, connectivity, spatial_dims=spatial_dims)
    counts = reference_count(mask, connectivity, spatial_dims=spatial_dims)
    first = None
    for _ in at_each_level():
        table = component_table(mask, values, connectivity, spatial_dims=spatial_dims)
        assert_is_reference(table, truth)
        first = first or table
        assert same(table, first)
        count = component_count(mask, connectivity, spatial_dims=spatial_dims)
        assert torch.equal(count, counts)


@pytest.mark.parametrize(("connectivity", "density"), [(1, 0.12), (2, 0.5), (3, 0.02)])
def test_bits_do_not_depend_on_threads(connectivity: int, density: float) -> None:
    """Sums are added in an order that the shape fixes, whatever the number of threads."""
    mask = noise((97, 90, 101), density, 3)
    values = [values_of(mask.shape, 1) * 1e6, values_of(mask.shape, 2, torch.float64)]
    labels = connected_components(mask, connectivity).reshape(-1).long()
    tables = []
    for threads in (1, 2, 5):
        with with_threads(threads):
            tables.append(component_table(mask, values, connectivity))
    assert all(same(table, tables[0]) for table in tables)
    assert tables[0].voxels.tolist() == labels.bincount()[1:].tolist()
    sums = torch.zeros(int(labels.max()) + 1, dtype=torch.float64)
    sums = sums.index_add(0, labels, values[0].reshape(-1).double())[1:]
    # Up to 10^6 values of size 10^6 whose sum is small: the rounding of the partial sums remains.
    torch.testing.assert_close(tables[0].sums[:, 0], sums, rtol=1e-9, atol=1e-3)


def test_slabs_merge_what_crosses_them() -> None:
    """Columns through all slabs, and pairs that meet in the last slice alone, are one row each."""
    mask = torch.zeros((96, 128, 64), dtype=torch.bool)
    mask[:, 2, 3] = True
    mask[:, 10, 3] = mask[:, 20, 3] = mask[95, 10:21, 3] = True
    mask[0, 30:41, 3] = mask[:, 30, 3] = mask[:, 40, 3] = True
    values = torch.arange(mask.numel(), dtype=torch.float64).reshape(mask.shape)
    table = component_table(mask, [values])
    assert table.voxels.tolist() == [96, 2 * 96 + 9, 2 * 96 + 9]
    assert table.boxes[:, 0].tolist() == [[0, 96]] * 3
    # In the order of first voxels: (0, 2), (0, 10), (0, 30).
    assert table.boxes[:, 1].tolist() == [[2, 3], [10, 21], [30, 41]]
    labels = connected_components(mask)
    for row, label in enumerate((1, 2, 3)):
        assert table.sums[row, 0] == values[labels == label].sum()
        assert table.minima[row, 0] == values[labels == label].min()


def test_axes_of_one_voxel_have_a_range_of_one() -> None:
    """Lines and slices inside a volume keep all their axes."""
    mask = torch.zeros((1, 5, 1), dtype=torch.bool)
    mask[0, 1:3] = True
    table = component_table(mask)
    assert table.boxes.tolist() == [[[0, 1], [1, 3], [0, 1]]]
    assert table.centroids.tolist() == [[0.0, 1.5, 0.0]]


def test_rows_of_a_batch_name_their_volume() -> None:
    """The index counts volumes in the flattened batch; empty ones have no row."""
    mask = torch.zeros((2, 2, 4, 4), dtype=torch.bool)
    mask[0, 1, 0, 0] = mask[1, 1, 0, 0] = mask[1, 1, 3, 3] = True
    table = component_table(mask, spatial_dims=2)
    assert table.volumes.tolist() == [1, 3, 3]
    assert component_count(mask, spatial_dims=2).tolist() == [[0, 1], [0, 2]]


@pytest.mark.parametrize("shape", [(0,), (3, 0), (4, 5), (0, 4, 5)])
def test_nothing_gives_no_rows(shape: tuple[int, ...]) -> None:
    """Without a component the columns keep their other axes."""
    mask = torch.zeros(shape, dtype=torch.bool)
    table = component_table(mask, [torch.ones(shape)])
    assert [tuple(column.shape) for column in table] == [
        *((0,), (0,), (0, len(shape), 2), (0, len(shape)), (0, 1), (0, 1))
    ]
    assert component_count(mask).tolist() == 0


def test_values_outside_the_components_are_not_read() -> None:
    """NaN and infinity on the background change nothing."""
    mask = lesion_mask((20, 30, 70), 6, 0)
    values = values_of(mask.shape, 0)
    spoilt = torch.where(mask, values, torch.tensor(float("nan")))
    assert same(component_table(mask, [spoilt]), component_table(mask, [values]))


def test_nan_and_infinity_inside_a_component_are_told() -> None:
    """A NaN makes sum and minimum NaN, on every instruction set; an infinity is a value."""
    mask = torch.tensor([1, 1, 0, 1, 1, 0, 1, 1, 0, 1]).bool()
    inf, nan = float("inf"), float("nan")
    values = torch.tensor([1.0, nan, 0, inf, 2, 0, -inf, inf, 0, inf])
    for _ in at_each_level():
        table = component_table(mask, [values])
        assert str(table.sums[:, 0].tolist()) == str([nan, inf, nan, inf])
        assert str(table.minima[:, 0].tolist()) == str([nan, 2.0, -inf, inf])


def test_layout_of_mask_and_values_does_not_matter() -> None:
    """Each may have its own strides."""
    mask, values = noise((6, 9, 70), 0.3), values_of((6, 9, 70), 1)
    expected = component_table(mask, [values])
    for name, other in layouts(mask):
        assert same(component_table(other, [values]), expected), name
    for name, other in layouts(values):
        assert same(component_table(mask, [other]), expected), name


def test_many_components() -> None:
    """More rows than 16 bits count, each a lone pixel."""
    mask = checkerboard((400, 500))
    table = component_table(mask, connectivity=1)
    assert table.voxels.tolist() == [1] * 100_000
    places = mask.nonzero()
    assert torch.equal(table.boxes, torch.stack((places, places + 1), dim=2))
    assert torch.equal(table.centroids, places.double())


def test_more_than_2_to_the_31_voxels() -> None:
    """A volume that no int32 counts, of one row that is repeated: a single component."""
    row = torch.zeros(2048, dtype=torch.bool)
    row[5:2000] = True
    mask = row.expand(1025, 1024, 2048)
    table = component_table(mask)
    assert table.voxels.tolist() == [1025 * 1024 * 1995]
    assert table.boxes.tolist() == [[[0, 1025], [0, 1024], [5, 2000]]]
    assert table.centroids.tolist() == [[512.0, 511.5, 1002.0]]
    assert int(component_count(mask, 1)) == 1


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (torch.ones((3, 4), dtype=torch.int32), "must be float16.*got torch.int32 as number 0"),
        (torch.ones((4, 3)), r"the mask's shape \(3, 4\), got \(4, 3\)"),
        (torch.ones((3, 4), device="meta"), "the mask's device cpu, got meta"),
    ],
)
def test_values_that_do_not_fit_are_refused(values: Tensor, message: str) -> None:
    """The error says which one, what was expected and what arrived."""
    with pytest.raises(ValueError, match=message):
        component_table(torch.ones((3, 4)), [values])
    if values.device.type == "cpu":
        with pytest.raises(RuntimeError, match=r"component_table: values must (be|have)"):
            torch.ops.breakeven.component_table(torch.ones((3, 4)), [values], 1, 2)


def test_out_of_range_arguments_are_refused() -> None:
    """As for the labels."""
    with pytest.raises(ValueError, match="connectivity must be 1 to 2"):
        component_table(torch.ones((3, 4)), connectivity=3)
    with pytest.raises(ValueError, match="connectivity must be 1 to 2"):
        component_count(torch.ones((3, 4)), 3)


class Measured(torch.nn.Module):
    """Table and counts as a graph of their own."""

    def forward(self, mask: Tensor, values: Tensor) -> tuple[ComponentTable, Tensor]:
        table = component_table(mask, [values], spatial_dims=3)
        return table, component_count(mask, spatial_dims=3)


GRAPH_SHAPE = (2, 1, 5, 9, 11)


@pytest.mark.parametrize("strict", [False, True])
def test_exported_table_is_right_after_reload(strict: bool) -> None:
    """A saved program gives as many rows as each mask has components, none included."""
    example = (noise(GRAPH_SHAPE, 0.2), values_of(GRAPH_SHAPE, 0))
    program = torch.export.export(Measured(), example, strict=strict)
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    loaded = torch.export.load(file).module()
    for density in (0.0, 0.05, 0.3, 1.0):
        mask = noise(GRAPH_SHAPE, density, 5)
        table, count = loaded(mask, example[1])
        assert isinstance(table, ComponentTable)
        expected, expected_count = Measured()(mask, example[1])
        assert same(table, expected)
        assert torch.equal(count, expected_count)


def test_compiled_table_is_right() -> None:
    """One graph without a break, whatever the number of rows."""
    torch._dynamo.reset()
    compiled = torch.compile(Measured(), fullgraph=True)
    for density in (0.2, 0.0, 0.5):
        mask, values = noise(GRAPH_SHAPE, density, 6), values_of(GRAPH_SHAPE, 1)
        table, count = compiled(mask, values)
        assert same(table, component_table(mask, [values], spatial_dims=3))
        assert torch.equal(count, component_count(mask, spatial_dims=3))


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_registered_operators_pass_opcheck() -> None:
    """Schema, fake and functional form agree with what table, count and `out` do."""
    mask, values = noise((2, 5, 6, 7), 0.3), values_of((2, 5, 6, 7), 0)
    operators = torch.ops.breakeven
    torch.library.opcheck(operators.component_table.default, (mask, [values, values], 2, 3))
    torch.library.opcheck(operators.component_count.default, (mask, 2, 3))
    for dtype in (torch.int32, torch.int64):
        out = torch.zeros(mask.shape, dtype=dtype)
        torch.library.opcheck(operators.connected_components.out, (mask, 2, 3), {"out": out})
