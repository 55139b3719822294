"""Any shape, spacing, instruction set and number of threads: within one unit in the last place.

Truths are SciPy, the float64 reference and the definition pair by pair; each shares nothing with
the operator.
"""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from kernels.distance_transform import distance_transform
from kernels.distance_transform.reference import reference
from tests.kernels.distance_masks import (
    COMMON_SPACINGS,
    KINDS,
    SEEDS,
    SHAPES,
    SPACINGS,
    assert_within_one_ulp,
    available_levels,
    brute_force,
    cpu_level,
    distances_of,
    num_threads,
    random_mask,
)

AVAILABLE = available_levels()


@settings(max_examples=1000, deadline=None)
@given(shape=SHAPES, spacing=SPACINGS, seed=SEEDS)
def test_distances_equal_scipy_on_every_instruction_set(
    shape: tuple[int, ...], spacing: tuple[float, ...], seed: int
) -> None:
    """SciPy's exact transform; all instruction sets agree to the bit."""
    steps = spacing[-len(shape) :]
    mask = random_mask(shape, seed)
    # SciPy squares the spacing itself: a power of two keeps that in range.
    unit = 2.0 ** round(math.log2(max(steps)))
    truth = ndimage.distance_transform_edt(mask, sampling=[step / unit for step in steps]) * unit
    results = []
    for level in AVAILABLE:
        with cpu_level(level):
            results.append(distance_transform(torch.from_numpy(mask), steps))
    assert_within_one_ulp(results[0], torch.from_numpy(truth), AVAILABLE[0])
    for level, result in zip(AVAILABLE, results, strict=True):
        assert torch.equal(result, results[0]), level


@settings(max_examples=200, deadline=None)
@given(shape=SHAPES, spacing=SPACINGS, seed=SEEDS)
def test_signed_is_both_sides(
    shape: tuple[int, ...], spacing: tuple[float, ...], seed: int
) -> None:
    """Inside as without a sign, outside minus the distances of the inverted mask."""
    steps = spacing[-len(shape) :]
    mask = torch.from_numpy(random_mask(shape, seed))
    inside, outside = distance_transform(mask, steps), distance_transform(~mask, steps)
    for level in AVAILABLE:
        with cpu_level(level):
            signed = distance_transform(mask, steps, signed=True)
        assert torch.equal(signed, torch.where(mask, inside, -outside)), level


@settings(max_examples=200, deadline=None)
@given(shape=SHAPES, spacing=SPACINGS, seed=SEEDS, signed=st.booleans())
def test_nearest_implies_the_distance(
    shape: tuple[int, ...], spacing: tuple[float, ...], seed: int, signed: bool
) -> None:
    """The voxel led to is of the other kind, and as far away as the distance says."""
    steps = spacing[-len(shape) :]
    mask = torch.from_numpy(random_mask(shape, seed))
    if signed and not mask.any():
        mask.reshape(-1)[0] = True
    for level in AVAILABLE:
        with cpu_level(level):
            distances, nearest = distance_transform(mask, steps, signed=signed, return_nearest=True)
            assert torch.equal(distances, distance_transform(mask, steps, signed=signed)), level
        if mask.all():
            assert bool((nearest == -1).all())
            continue
        led_to = mask.reshape(-1)[nearest]
        assert torch.equal(led_to, ~mask if signed else torch.zeros_like(mask)), level
        assert_within_one_ulp(distances.abs(), distances_of(nearest, shape, steps), level)


@settings(max_examples=100, deadline=None)
@given(shape=SHAPES, seed=SEEDS, signed=st.booleans(), steps=st.sampled_from([1.0, 0.5, 3.0]))
def test_of_equally_near_voxels_the_first_is_taken(
    shape: tuple[int, ...], seed: int, signed: bool, steps: float
) -> None:
    """Spacings whose squares float64 holds exactly: the reference then sees every tie."""
    spacing = (2 * steps, steps, 4 * steps)[-len(shape) :]
    mask = torch.from_numpy(random_mask(shape, seed))
    _, expected = reference(mask, spacing, signed=signed, return_nearest=True)
    for level in AVAILABLE:
        with cpu_level(level):
            _, nearest = distance_transform(mask, spacing, signed=signed, return_nearest=True)
        assert torch.equal(nearest, expected), level


@settings(max_examples=300, deadline=None)
@given(
    shape=st.one_of(
        st.tuples(st.integers(1, 40)),
        st.tuples(*[st.integers(1, 9)] * 2),
        st.tuples(*[st.integers(1, 5)] * 3),
    ),
    spacing=st.sampled_from(COMMON_SPACINGS[:1] + COMMON_SPACINGS[3:]),
    seed=SEEDS,
)
def test_small_volumes_equal_the_definition(
    shape: tuple[int, ...], spacing: tuple[float, ...], seed: int
) -> None:
    """Every pair of voxels, where there are few: distances and the first nearest zero."""
    steps = spacing[-len(shape) :]
    mask = torch.from_numpy(random_mask(shape, seed))
    truth, first = brute_force(mask, steps)
    for level in AVAILABLE:
        with cpu_level(level):
            distances, nearest = distance_transform(mask, steps, return_nearest=True)
        assert_within_one_ulp(distances, truth, level)
        assert torch.equal(nearest, first), level


@pytest.mark.parametrize("signed", [False, True], ids=["unsigned", "signed"])
@pytest.mark.parametrize("spacing", [(2.5, 1.0, 0.8), (1.1, 0.77, 0.3333)], ids=["whole", "real"])
@pytest.mark.parametrize("kind", range(len(KINDS)), ids=lambda kind: KINDS[kind].__name__[1:])
def test_threads_and_instruction_sets_agree_to_the_bit(
    kind: int, spacing: tuple[float, ...], signed: bool
) -> None:
    """Work is shared out differently, within a volume and over a batch."""
    shape = (40, 70, 150)
    mask = torch.from_numpy(random_mask((2, *shape), 5, kind))
    expected = None
    for level in AVAILABLE:
        for count in (1, 2, 5):
            with cpu_level(level), num_threads(count):
                found = distance_transform(
                    mask, spacing, signed=signed, return_nearest=True, spatial_dims=3
                )
                alone = distance_transform(mask, spacing, signed=signed, spatial_dims=3)
            expected = expected or found
            assert torch.equal(alone, expected[0]), (level, count)
            assert torch.equal(found[0], expected[0]), (level, count)
            assert torch.equal(found[1], expected[1]), (level, count)


@pytest.mark.parametrize("level", AVAILABLE)
@pytest.mark.parametrize("spacing", [(1.0, 300.0), (1.0, math.pi * 100)], ids=["whole", "real"])
def test_long_columns_without_likeness_equal_scipy(level: str, spacing: tuple[float, ...]) -> None:
    """Lower envelopes, column by column: the search and the halving both give up here."""
    generator = np.random.default_rng(3)
    mask = np.ones((1500, 40), bool)
    mask[generator.integers(1500, size=40), np.arange(40)] = False
    truth = torch.from_numpy(ndimage.distance_transform_edt(mask, sampling=spacing))
    with cpu_level(level):
        distances, nearest = distance_transform(
            torch.from_numpy(mask), spacing, return_nearest=True
        )
        assert torch.equal(distances, distance_transform(torch.from_numpy(mask), spacing))
    assert_within_one_ulp(distances, truth)
    assert_within_one_ulp(distances, distances_of(nearest, (1500, 40), spacing))


@pytest.mark.parametrize("level", AVAILABLE)
def test_equal_spacings_are_searched_in_whole_numbers(level: str) -> None:
    """Squared distances are whole before the root: the result is the rounded one, to the bit."""
    mask = torch.from_numpy(random_mask((30, 50, 90), 11, kind=1))
    squared = reference(mask).square().round()
    with cpu_level(level):
        for step in (1.0, 0.7, 3e-20):
            found = distance_transform(mask, [step] * 3)
            assert torch.equal(found, (squared.sqrt() * step).float())


@pytest.mark.parametrize("level", AVAILABLE)
@pytest.mark.parametrize("shape", [(40_000,), (2, 40_000), (40_000, 2), (2, 2, 40_000)])
def test_squares_beyond_int32_are_exact(level: str, shape: tuple[int, ...]) -> None:
    """Lines so long that their squares do not fit 32 bits: every distance is still whole."""
    mask = torch.ones(shape, dtype=torch.bool)
    mask[(0,) * len(shape)] = False
    axis = shape.index(40_000)
    with cpu_level(level):
        found, nearest = distance_transform(mask, return_nearest=True)
    line = found.movedim(axis, 0).reshape(40_000, -1)[:, 0]
    assert torch.equal(line, torch.arange(40_000.0))
    assert bool((nearest == 0).all())


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float64])
def test_large_mask_of_any_layout_is_read_part_by_part(dtype: torch.dtype) -> None:
    """A mask that is not contiguous is copied in parts of 2 MiB, not as a whole."""
    mask = torch.from_numpy(random_mask((260, 190, 200), 2, kind=0)).to(dtype)
    mask = mask[:60] if dtype == torch.float64 else mask
    expected = distance_transform(mask, (2.5, 1.0, 0.8))
    fortran = mask.permute(2, 1, 0).contiguous().permute(2, 1, 0)
    assert torch.equal(distance_transform(fortran, (2.5, 1.0, 0.8)), expected)
    batch = fortran[None, None].expand(1, 2, *mask.shape)
    found = distance_transform(batch, (2.5, 1.0, 0.8), spatial_dims=3)
    assert torch.equal(found[0, 1], expected)


def test_unknown_instruction_set_is_refused() -> None:
    """A misspelt name must not silently mean the default."""
    with cpu_level("sse9"), pytest.raises(RuntimeError, match="must be portable, avx2 or avx512"):
        distance_transform(torch.zeros(3))
