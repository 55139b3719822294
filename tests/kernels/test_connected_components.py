"""Labelling: every implementation against SciPy and against answers known by hand."""

import math
import subprocess
import sys
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage
from torch import Tensor

from kernels.connected_components import by_pooling, component_count, connected_components
from kernels.connected_components.alternatives import LIBRARIES
from kernels.connected_components.arguments import labels_dtype, max_num_components
from kernels.connected_components.cases import checkerboard, lesion_mask, noise, snake
from kernels.connected_components.reference import reference
from kernels.connected_components.standard import COMPOSITIONS
from kernels.operator import Implementation

CALLS: dict[str, Implementation] = {
    "operator": connected_components,
    "reference": reference,
    **{composition.name: composition.call for composition in COMPOSITIONS},
}
EXPORTABLE = {name: call for name, call in CALLS.items() if name != "reference"}

every_call = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)


class Labeller(torch.nn.Module):
    """One implementation as a graph of its own."""

    def __init__(self, call: Implementation) -> None:
        super().__init__()
        self.call = call

    def forward(self, mask: Tensor) -> Any:
        return self.call(mask, spatial_dims=3)


def by_scipy(mask: Tensor, connectivity: int) -> Tensor:
    """SciPy's labels, renumbered by the order in which they are met."""
    structure = ndimage.generate_binary_structure(mask.ndim, connectivity)
    labels = ndimage.label(mask.numpy(), structure=structure)[0]
    numbers = {0: 0}
    renumbered = [numbers.setdefault(label, len(numbers)) for label in labels.ravel().tolist()]
    return torch.tensor(renumbered, dtype=torch.int32).reshape(mask.shape)


@st.composite
def masks(draw: st.DrawFn) -> Tensor:
    """Random masks of 1 to 3 axes, of any density, one in three not contiguous."""
    shape = draw(st.lists(st.integers(1, 11), min_size=1, max_size=3))
    density = draw(st.sampled_from([0.05, 0.2, 0.35, 0.5, 0.8, 1.0]))
    layout = draw(st.sampled_from(["plain", "transposed", "stepped"]))
    if layout == "stepped":
        shape = [2 * size for size in shape]
    mask = noise(shape, density, draw(st.integers(0, 2**20)))
    if layout == "transposed":
        return mask.permute(*reversed(range(mask.ndim)))
    return mask[tuple(slice(1, None, 2) for _ in shape)] if layout == "stepped" else mask


@settings(max_examples=120, deadline=None, derandomize=True)
@given(masks())
def test_equals_scipy(mask: Tensor) -> None:
    """Every implementation gives SciPy's components in raster order, at any connectivity."""
    for connectivity in range(1, mask.ndim + 1):
        expected = by_scipy(mask, connectivity)
        for name, call in CALLS.items():
            labels = call(mask, connectivity)
            assert labels.dtype == torch.int32, name
            assert torch.equal(labels, expected), name


@settings(max_examples=40, deadline=None, derandomize=True)
@given(masks(), st.integers(0, 3), st.integers(1, 3))
def test_batch_equals_one_by_one(mask: Tensor, num_images: int, connectivity: int) -> None:
    """Each volume of a batch is numbered from 1, as if it had come alone."""
    if mask.ndim == 1:
        mask = mask.unsqueeze(0)
    connectivity = min(connectivity, mask.ndim)
    batch = torch.stack([mask.roll(shift, -1) for shift in range(num_images)] or [mask])[
        :num_images
    ].unsqueeze(1)
    for name, call in CALLS.items():
        labels = call(batch, connectivity, spatial_dims=mask.ndim)
        assert labels.shape == batch.shape, name
        for image, alone in zip(labels, batch, strict=True):
            assert torch.equal(image[0], by_scipy(alone[0], connectivity)), name


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.name)
def test_library_equals_reference(library: Any) -> None:
    """A library's adapter returns the canonical numbering, batches included."""
    pytest.importorskip({"scipy.ndimage.label": "scipy", "cc3d": "cc3d"}[library.name])
    call = library.load()
    for connectivity in (1, 2, 3):
        batch = noise((2, 1, 7, 8, 9), 0.25)
        expected = reference(batch, connectivity, spatial_dims=3)
        assert torch.equal(call(batch, connectivity, spatial_dims=3), expected)
    image = noise((9, 8), 0.4)
    assert torch.equal(call(image, 1), reference(image, 1))


# Faults seen in published implementations, each by name.


@every_call
def test_lone_voxel_is_labelled(call: Implementation) -> None:
    """A component of one voxel counts, wherever it lies."""
    for position in product((0, 1, 2), repeat=3):
        mask = torch.zeros((3, 3, 3), dtype=torch.bool)
        mask[position] = True
        assert torch.equal(call(mask), mask.to(torch.int32))


@every_call
@pytest.mark.parametrize("shape", [(1,), (8,), (5, 7), (2, 2), (1, 1, 4), (3, 4, 4), (4, 5, 6)])
def test_all_ones_are_one_component(call: Implementation, shape: tuple[int, ...]) -> None:
    """A mask without background is one component, not none."""
    assert torch.equal(call(torch.ones(shape), 1), torch.ones(shape, dtype=torch.int32))


@every_call
@pytest.mark.parametrize("size", [1, 2, 7, 8, 9, 15, 16, 17])
def test_odd_sizes(call: Implementation, size: int) -> None:
    """Sizes that no block divides, along each axis."""
    for axis in range(3):
        shape = [3, 4, 5]
        shape[axis] = size
        mask = noise(shape, 0.3, seed=size)
        assert torch.equal(call(mask), by_scipy(mask, 3))


@every_call
def test_parallel_stripes_stay_apart(call: Implementation) -> None:
    """Stripes one voxel apart keep their labels, along rows and along columns."""
    stripes = torch.zeros((9, 9), dtype=torch.int32)
    stripes[::2] = torch.arange(1, 6, dtype=torch.int32)[:, None]
    assert torch.equal(call(stripes > 0), stripes)
    assert torch.equal(call(stripes.T > 0), stripes.T)


@every_call
def test_single_row_holds_as_many_labels_as_it_can(call: Implementation) -> None:
    """Every second voxel of one row is a component: the bound on labels is (width + 1) / 2."""
    mask = torch.zeros((1, 1001), dtype=torch.bool)
    mask[0, ::2] = True
    labels = call(mask)
    assert labels[mask].tolist() == list(range(1, 502))


@pytest.mark.parametrize("call", EXPORTABLE.values(), ids=EXPORTABLE)
def test_more_labels_than_16_bits_hold(call: Implementation) -> None:
    """100 000 lone pixels get 100 000 labels."""
    mask = checkerboard((400, 500))
    labels = call(mask, 1)
    assert torch.equal(labels[mask], torch.arange(1, 100_001, dtype=torch.int32))


@pytest.mark.parametrize(
    ("volume", "connectivity", "dtype"),
    [
        ((2**11, 2**11, 2**10 - 1), 1, torch.int32),
        ((2**11, 2**11, 2**10), 1, torch.int64),
        ((2**12, 2**11, 2**10 - 1), 2, torch.int32),
        ((2**12, 2**11, 2**10), 2, torch.int64),
        ((2**12, 2**11, 2**11), 3, torch.int64),
        ((2**12, 2**11, 2**11 - 2), 3, torch.int32),
        ((2**31 - 1, 1, 2), 1, torch.int32),
        ((2**32,), 1, torch.int64),
    ],
)
def test_labels_are_int64_only_where_a_shape_asks_for_it(
    volume: tuple[int, ...], connectivity: int, dtype: torch.dtype
) -> None:
    """The most components of a shape decide, in the rule for graphs too, not its voxels."""
    assert labels_dtype(volume, connectivity) == dtype
    mask = torch.zeros(1, dtype=torch.bool, device="meta").expand(volume)
    assert connected_components(mask, connectivity).dtype == dtype


@pytest.mark.parametrize("volume", [(1,), (4,), (5,), (2, 3), (3, 3), (2, 2, 2), (2, 2, 3)])
def test_most_components_of_a_shape(volume: tuple[int, ...]) -> None:
    """The bound behind the dtype is reached, and no mask of the shape exceeds it."""
    size = math.prod(volume)
    for connectivity in range(1, len(volume) + 1):
        bits = torch.arange(2**size)[:, None] >> torch.arange(size) & 1
        masks = bits.reshape(-1, 1, *(1,) * (3 - len(volume)), *volume)
        most = int(component_count(masks, connectivity, spatial_dims=3).max())
        assert most == max_num_components(volume, connectivity), connectivity


@every_call
def test_column_major_input_is_not_transposed(call: Implementation) -> None:
    """A mask in Fortran order, as NIfTI readers give it, is labelled by index, not by address."""
    mask = noise((6, 7, 9), 0.25, seed=4)
    column_major = torch.from_numpy(np.asfortranarray(mask.numpy()))
    assert not column_major.is_contiguous()
    labels = call(column_major)
    assert torch.equal(labels, by_scipy(mask, 3))
    assert labels.is_contiguous()


@pytest.mark.parametrize("call", EXPORTABLE.values(), ids=EXPORTABLE)
def test_long_snake_is_one_component(call: Implementation) -> None:
    """A path of some 3 600 steps is not cut by a limit on rounds."""
    mask = snake(85, 83)
    assert torch.equal(call(mask, 1), mask.to(torch.int32))


@every_call
def test_every_mask_of_four_voxels_in_a_row(call: Implementation) -> None:
    """1x1x4 volumes, all 16 of them."""
    for bits in product((False, True), repeat=4):
        mask = torch.tensor(bits).reshape(1, 1, 4)
        assert torch.equal(call(mask), by_scipy(mask, 3))


@every_call
def test_volumes_of_3x4x4(call: Implementation) -> None:
    """Small volumes of 3x4x4, at each connectivity."""
    for seed, connectivity in product(range(8), (1, 2, 3)):
        mask = noise((3, 4, 4), 0.35, seed)
        assert torch.equal(call(mask, connectivity), by_scipy(mask, connectivity))


@every_call
def test_fewer_voxels_than_a_word_with_a_stride(call: Implementation) -> None:
    """One voxel cut from a longer line keeps its stride; nothing may rely on that stride."""
    assert call(torch.tensor([True, False])[::2][:1]).tolist() == [1]
    assert call(torch.tensor([True, False])[1::2]).tolist() == [0]


def test_pooling_is_exact_beyond_2_to_the_24_voxels() -> None:
    """Neighbours whose identifiers float32 cannot tell apart are still one component."""
    mask = torch.zeros(by_pooling.FLOAT32_EXACT_LIMIT + 8, dtype=torch.bool)
    mask[:2] = True
    mask[-1] = True
    labels = by_pooling.label_by_pooling(mask)
    assert labels[:2].tolist() == [1, 1]
    assert labels[-1] == 2


# What is foreground, and what is refused.


@every_call
@pytest.mark.parametrize(
    "values",
    [
        torch.tensor([0.0, -0.0, float("nan"), 0.0, 1e-30, -2.0]),
        torch.tensor([0, 0, 256, 0, -1, 2**40]),
        torch.tensor([0, 0, -128, 0, 1, 127], dtype=torch.int8),
        torch.tensor([0, 0, 6e-8, 0, 1, -1], dtype=torch.float16),
        torch.tensor([0, 0, 1j, 0, 1, 1 + 1j]),
    ],
    ids=["float32", "int64", "int8", "float16", "complex64"],
)
def test_foreground_is_what_differs_from_zero(call: Implementation, values: Tensor) -> None:
    """Any dtype is compared with zero; nothing is rounded or cut to bytes first."""
    assert call(values).tolist() == [0, 0, 1, 0, 2, 2]


def test_registered_operator_takes_any_layout() -> None:
    """Called as torch.ops, the kernel reads strided and expanded floats right."""
    mask = noise((5, 1, 9), 0.4).to(torch.float64).expand(5, 4, 9).permute(2, 0, 1)[::2]
    labels = torch.ops.breakeven.connected_components(mask, 2, 2)
    assert torch.equal(labels, reference(mask, 2, spatial_dims=2))


@every_call
@pytest.mark.parametrize(
    ("shape", "connectivity", "spatial_dims", "message"),
    [
        ((), None, None, "1 to 3 axes, got 0"),
        ((1, 1, 2, 2), None, None, "1 to 3 axes, got 4; pass spatial_dims"),
        ((4, 4), None, 3, "at least spatial_dims=3 axes, got 2"),
        ((4, 4, 4), None, 1, "spatial_dims must be 2 or 3, got 1"),
        ((4, 4), 0, None, "connectivity must be 1 to 2 .*got 0"),
        ((4, 4), 3, None, "connectivity must be 1 to 2 .*got 3"),
        ((2, 4, 4), 3, 2, "connectivity must be 1 to 2 .*got 3"),
    ],
)
def test_out_of_range_arguments_are_refused(
    call: Implementation,
    shape: tuple[int, ...],
    connectivity: int | None,
    spatial_dims: int | None,
    message: str,
) -> None:
    """The error says what was expected and what arrived."""
    with pytest.raises(ValueError, match=message):
        call(torch.zeros(shape), connectivity, spatial_dims=spatial_dims)


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_registered_operator_checks_ranges(device: str) -> None:
    """Kernel and shape rule refuse alike what the public function would have refused."""
    for connectivity, spatial_dims in ((0, 2), (3, 2), (1, 0), (1, 4), (1, 3)):
        with pytest.raises(RuntimeError, match="connected_components"):
            torch.ops.breakeven.connected_components(
                torch.zeros((4, 4), device=device), connectivity, spatial_dims
            )


def test_reading_the_spec_loads_nothing() -> None:
    """The plain facts can be read without torch, a compiler or a library."""
    script = (
        "import sys; from kernels.connected_components.spec import SPEC; "
        "sys.exit('torch' in sys.modules or 'kernels.connected_components.op' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


# In a graph.


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("call", EXPORTABLE.values(), ids=EXPORTABLE)
def test_exported_program_is_right_on_other_masks(call: Implementation, strict: bool) -> None:
    """Right on any other mask of that shape: denser, empty, full, at an odd address."""
    shape = (1, 1, 10, 11, 13)
    program = torch.export.export(Labeller(call), (noise(shape, 0.3),), strict=strict).module()
    others = [noise(shape, density, 5) for density in (0.0, 0.05, 0.2, 0.6, 1.0)]
    lone = torch.zeros(shape, dtype=torch.bool)
    lone[0, 0, 4, 5, 6] = True
    off_word = torch.cat((lone, noise(shape, 0.2, 6)))[1:]
    for mask in (*others, lone, off_word, snake(110, 13).reshape(shape)):
        assert torch.equal(program(mask), connected_components(mask, spatial_dims=3))


@pytest.mark.parametrize("composition", COMPOSITIONS, ids=lambda composition: composition.name)
def test_exported_graph_holds_standard_operators_alone(composition: Any) -> None:
    """A composition's graph needs no library of ours and has no fixed number of rounds."""
    mask = lesion_mask((8, 16, 16), 3, 0)[None, None]
    exported = torch.export.export(Labeller(composition.call), (mask,))
    targets = [str(node.target) for node in exported.graph.nodes]
    assert not any("breakeven" in target for target in targets)
    assert "while_loop" in targets


def test_batched_export_is_right() -> None:
    """The best composition numbers each volume of an exported batch from 1."""
    shape = (3, 2, 5, 6, 7)
    program = torch.export.export(Labeller(COMPOSITIONS[0].call), (noise(shape, 0.3),)).module()
    for density in (0.0, 0.1, 0.4):
        mask = noise(shape, density, 9)
        assert torch.equal(program(mask), reference(mask, spatial_dims=3))
