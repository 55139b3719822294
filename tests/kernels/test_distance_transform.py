"""The distance transform against SciPy, and what its arguments may be."""

import io
import math
from contextlib import nullcontext

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from kernels.distance_transform import distance_transform
from kernels.distance_transform.reference import reference
from kernels.distance_transform.standard import COMPOSITIONS
from kernels.form import exporting_for_a_compiler
from kernels.operator import Composition

# float32 result of a float64 truth; the reason is in spec.py.
RELATIVE = 1e-6

shapes = st.one_of(
    st.tuples(st.integers(1, 70)),
    st.tuples(st.integers(1, 40), st.integers(1, 70)),
    st.tuples(st.integers(1, 20), st.integers(1, 20), st.integers(1, 40)),
)
steps = st.floats(1e-3, 1e3)
fractions = st.sampled_from([0.02, 0.5, 0.9, 0.99, 0.999])
seeds = st.integers(0, 2**32 - 1)


def random_mask(shape: tuple[int, ...], inside: float, seed: int) -> np.ndarray:
    """Independent voxels, with one zero at least: SciPy has no answer without."""
    generator = np.random.default_rng(seed)
    mask = generator.random(shape) < inside
    mask[tuple(generator.integers(size) for size in shape)] = False
    return mask


@settings(max_examples=150, deadline=None)
@given(data=st.data(), shape=shapes, inside=fractions, seed=seeds)
def test_equals_scipy_at_any_shape_and_spacing(
    data: st.DataObject, shape: tuple[int, ...], inside: float, seed: int
) -> None:
    """SciPy's exact transform, an implementation that shares nothing with ours."""
    spacing = data.draw(st.lists(steps, min_size=len(shape), max_size=len(shape)))
    mask = random_mask(shape, inside, seed)
    expected = ndimage.distance_transform_edt(mask, sampling=spacing)
    actual = distance_transform(torch.from_numpy(mask), spacing).numpy()
    np.testing.assert_allclose(actual, expected, rtol=RELATIVE, atol=0)


@settings(max_examples=25, deadline=None)
@given(shape=shapes, inside=fractions, seed=seeds)
def test_reference_and_compositions_equal_scipy(
    shape: tuple[int, ...], inside: float, seed: int
) -> None:
    """The truth is held to an outside truth, and so is what competes with the operator."""
    mask = random_mask(shape, inside, seed)
    expected = ndimage.distance_transform_edt(mask)
    for call in (reference, *(composition.call for composition in COMPOSITIONS)):
        np.testing.assert_allclose(call(torch.from_numpy(mask)), expected, rtol=RELATIVE, atol=0)


@settings(max_examples=25, deadline=None)
@given(shape=shapes, inside=fractions, seed=seeds, exponent=st.integers(-60, 60))
def test_scaling_the_spacing_scales_the_result(
    shape: tuple[int, ...], inside: float, seed: int, exponent: int
) -> None:
    """Any unit of length that float32 can hold will do: a power of two changes no digit."""
    mask = torch.from_numpy(random_mask(shape, inside, seed))
    unit = 2.0**exponent
    scaled = distance_transform(mask, [unit] * len(shape))
    assert torch.equal(scaled, distance_transform(mask) * unit)


def test_brute_force_by_definition() -> None:
    """The definition itself, pair by pair, on a volume small enough for it."""
    mask = torch.from_numpy(random_mask((5, 6, 7), 0.9, seed=3))
    spacing = torch.tensor([2.5, 1.0, 0.8], dtype=torch.float64)
    points = torch.cartesian_prod(*(torch.arange(size) for size in mask.shape)) * spacing
    zeros = points[~mask.reshape(-1)]
    # The default goes through a product of matrices, and loses half of the digits.
    pairs = torch.cdist(points, zeros, compute_mode="donot_use_mm_for_euclid_dist")
    expected = pairs.amin(1).reshape(mask.shape)
    actual = distance_transform(mask, spacing.tolist()).double()
    torch.testing.assert_close(actual, expected, rtol=RELATIVE, atol=0)


def test_line_beyond_8192_is_exact() -> None:
    """Positions whose squares float32 cannot hold: every distance is still a whole number."""
    mask = torch.ones(2, 20001, dtype=torch.bool)
    mask[0, 0] = False
    expected = torch.arange(20001, dtype=torch.float32)
    for dims in (1, 2):
        assert torch.equal(distance_transform(mask[:1], spatial_dims=dims)[0], expected)
    along_rows = distance_transform(mask.T.contiguous())
    assert torch.equal(along_rows[:, 0], expected)


def test_volume_without_a_zero_is_infinite_and_its_neighbour_is_not() -> None:
    """Each volume of a batch stands for itself."""
    mask = torch.ones(2, 3, 4)
    mask[1, 0, 0] = 0
    result = distance_transform(mask, spatial_dims=2)
    assert bool((result[0] == math.inf).all())
    assert result[1, 2, 3] == pytest.approx(math.hypot(2, 3))


@pytest.mark.parametrize("num_threads", [1, 2, 7])
def test_number_of_threads_does_not_matter(num_threads: int) -> None:
    """Work is shared out differently, and the result is the same to the bit."""
    mask = torch.from_numpy(random_mask((3, 40, 100), 0.999, seed=5))
    expected = distance_transform(mask, (2.0, 1.0, 1.5))
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(num_threads)
        assert torch.equal(distance_transform(mask, (2.0, 1.0, 1.5)), expected)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("spacing", "spatial_dims", "message"),
    [
        ((1.0,), None, "one value for each of the 2 spatial axes"),
        ((1.0, 0.0), None, "finite and > 0"),
        ((1.0, -1.0), None, "finite and > 0"),
        ((1.0, math.inf), None, "finite and > 0"),
        ((1.0, math.nan), None, "finite and > 0"),
        ((), 0, "spatial_dims must be 1, 2 or 3"),
        (None, 3, "spatial_dims must be 1, 2 or 3"),
    ],
)
def test_bad_arguments_are_refused_everywhere(
    spacing: tuple[float, ...] | None, spatial_dims: int | None, message: str
) -> None:
    """Public function, compositions and the bare registered operator refuse alike."""
    mask = torch.ones(4, 5)
    for call in (distance_transform, reference, *(way.call for way in COMPOSITIONS)):
        with pytest.raises(ValueError, match=message):
            call(mask, spacing, spatial_dims=spatial_dims)
    dims = 2 if spatial_dims is None else spatial_dims
    steps = [1.0] * dims if spacing is None else spacing
    with pytest.raises(RuntimeError, match=message):
        torch.ops.breakeven.distance_transform(mask, steps, dims)


def test_complex_input_is_refused() -> None:
    """A dtype that the operator does not read is named."""
    with pytest.raises(RuntimeError, match="boolean, integer or floating, got ComplexFloat"):
        distance_transform(torch.ones(3, dtype=torch.complex64))


def test_exported_graph_holds_the_operator_and_answers_alike() -> None:
    """torch.export keeps the call, sizes left open; the program needs no Python of ours."""

    class Model(torch.nn.Module):
        def forward(self, mask: torch.Tensor) -> torch.Tensor:
            result: torch.Tensor = distance_transform(mask, (2.0, 1.0, 1.0), spatial_dims=3)
            return result

    mask = torch.from_numpy(random_mask((1, 6, 7, 8), 0.9, seed=1))
    size = torch.export.Dim.AUTO
    program = torch.export.export(Model(), (mask,), dynamic_shapes=({1: size, 2: size, 3: size},))
    assert "breakeven.distance_transform" in str(program.graph)
    other = torch.from_numpy(random_mask((1, 9, 5, 11), 0.9, seed=2))
    expected = distance_transform(other, (2.0, 1.0, 1.0), spatial_dims=3)
    assert torch.equal(program.module()(other), expected)


@pytest.mark.parametrize("spatial_dims", [2, 3])
@pytest.mark.parametrize("is_for_a_compiler", [False, True], ids=["interpreted", "for-a-compiler"])
@pytest.mark.parametrize("composition", COMPOSITIONS, ids=lambda way: str(way.name))
def test_composition_exports(
    composition: Composition, is_for_a_compiler: bool, spatial_dims: int
) -> None:
    """It can take the operator's place in a graph: on several slabs, a batch, any mask."""
    spacing = (2.0, 0.7, 1.3)[:spatial_dims]
    shape = (2, 2, 150, 300) if spatial_dims == 2 else (2, 2, 60, 40, 50)

    class Model(torch.nn.Module):
        def forward(self, mask: torch.Tensor) -> torch.Tensor:
            result: torch.Tensor = composition.call(mask, spacing, spatial_dims=spatial_dims)
            return result

    mask = torch.from_numpy(random_mask(shape, 0.99, seed=1))
    with exporting_for_a_compiler() if is_for_a_compiler else nullcontext():
        program = torch.export.export(Model(), (mask,), strict=False)
    assert ("map_impl" in str(program.graph)) is not is_for_a_compiler
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    loaded = torch.export.load(file).module()
    lone_zero = torch.ones(shape, dtype=torch.bool)
    lone_zero[..., -1, 0] = False
    for other in (mask, mask.flip(-1), lone_zero, torch.ones_like(mask)):
        expected = reference(other, spacing, spatial_dims=spatial_dims)
        torch.testing.assert_close(loaded(other).double(), expected, rtol=RELATIVE, atol=0)


@pytest.mark.parametrize("composition", COMPOSITIONS, ids=lambda way: str(way.name))
def test_interpreted_program_equals_eager_mode(composition: Composition) -> None:
    """What a plain export runs does the arithmetic of eager mode, to the bit."""

    class Model(torch.nn.Module):
        def forward(self, mask: torch.Tensor) -> torch.Tensor:
            result: torch.Tensor = composition.call(mask, (0.3, 1.7, 1.1), spatial_dims=3)
            return result

    mask = torch.from_numpy(random_mask((1, 20, 30, 40), 0.999, seed=3))
    program = torch.export.export(Model(), (mask,), strict=False).module()
    assert torch.equal(program(mask), Model()(mask))
