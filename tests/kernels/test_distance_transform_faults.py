"""Faults that users met in other implementations, each by its name in facts/kernels.md."""

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.distance_transform import distance_transform
from tests.kernels.distance_masks import (
    SEEDS,
    assert_within_one_ulp,
    brute_force,
    random_mask,
)


@pytest.mark.parametrize("shape", [(7,), (5, 6), (4, 5, 6), (4, 20, 70)])
def test_no_background_at_all(shape: tuple[int, ...]) -> None:
    """Nothing to be near to: +inf, and no nearest voxel, rather than a distance to a border."""
    distances, nearest = distance_transform(torch.ones(shape), return_nearest=True)
    assert bool((distances == math.inf).all())
    assert bool((nearest == -1).all())
    assert bool((distance_transform(torch.ones(shape), signed=True) == math.inf).all())


@pytest.mark.parametrize("shape", [(7,), (5, 6), (4, 5, 6), (4, 20, 70)])
def test_empty_mask_gives_zeros(shape: tuple[int, ...]) -> None:
    """Background alone is 0 everywhere and leads to itself; with a sign it is -inf."""
    distances, nearest = distance_transform(torch.zeros(shape), return_nearest=True)
    assert torch.equal(distances, torch.zeros(shape))
    assert torch.equal(nearest.reshape(-1), torch.arange(nearest.numel()))
    signed, other = distance_transform(torch.zeros(shape), signed=True, return_nearest=True)
    assert bool((signed == -math.inf).all())
    assert bool((other == -1).all())


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0, 2), (2, 3, 0)])
def test_input_without_voxels(shape: tuple[int, ...]) -> None:
    """Nothing in, nothing out, of the right shape and dtypes."""
    distances, nearest = distance_transform(torch.zeros(shape), return_nearest=True)
    assert (distances.shape, distances.dtype) == (shape, torch.float32)
    assert (nearest.shape, nearest.dtype) == (shape, torch.int64)


@pytest.mark.parametrize("shape", [(3, 4099), (4099, 3), (2, 2, 8200), (8200, 2, 2), (2, 8200, 2)])
def test_more_than_4k_columns(shape: tuple[int, ...]) -> None:
    """float32 sums of squares lose whole steps here: two zeros at the ends, one voxel between."""
    mask = torch.ones(shape, dtype=torch.bool)
    axis = max(range(len(shape)), key=lambda index: shape[index])
    length = shape[axis]
    mask.select(axis, 0).fill_(False)
    mask.select(axis, length - 1).fill_(False)
    place = torch.arange(length)
    expected = torch.minimum(place, length - 1 - place).float()
    found = distance_transform(mask).movedim(axis, -1)
    assert torch.equal(found, expected.expand(found.shape))


@pytest.mark.parametrize(
    "spacing",
    [(1e-6, 1.0, 1e6), (1e6, 1e-6, 1.0), (1.0, 1e30, 1e-5), (1e-150, 1.0, 1.0), (1.0, 1.0, 1e150)],
)
def test_very_anisotropic_spacing(spacing: tuple[float, ...]) -> None:
    """Squares that differ by more than float32 holds: each pair of voxels is the truth."""
    mask = torch.from_numpy(random_mask((4, 5, 6), 8, kind=0))
    truth, _ = brute_force(mask, spacing)
    assert_within_one_ulp(distance_transform(mask, spacing), truth)


def test_spacing_beyond_all_measure_is_refused() -> None:
    """Its squares have no common unit in float64."""
    for call in (distance_transform, torch.ops.breakeven.distance_transform):
        dims = (2,) if call is not distance_transform else ()
        with pytest.raises((ValueError, RuntimeError), match="times the smallest"):
            call(torch.ones(3, 3), (1e-200, 1e200), *dims)


@pytest.mark.parametrize("unit", [1e-30, 1e-20, 1e20, 1e30])
def test_very_small_or_large_spacing(unit: float) -> None:
    """Squares of these steps are 0 or infinite in float32; the distances are neither."""
    mask = torch.from_numpy(random_mask((6, 7, 20), 4, kind=0))
    spacing = (2.5 * unit, unit, 0.8 * unit)
    truth, _ = brute_force(mask, (2.5, 1.0, 0.8))
    assert_within_one_ulp(distance_transform(mask, spacing), truth * unit)


def test_infinities_of_one_volume_stay_in_it() -> None:
    """Rows, planes and volumes without a zero beside such with one: no NaN, nothing leaks."""
    mask = torch.ones(3, 4, 5, 6)
    mask[1, 2, 3, 4] = 0
    found = distance_transform(mask, spatial_dims=3)
    assert bool((found[0] == math.inf).all())
    assert bool((found[2] == math.inf).all())
    assert found[1, 0, 0, 0] == pytest.approx(math.sqrt(4 + 9 + 16))
    planes = distance_transform(mask, spatial_dims=2)
    assert bool(planes[1, 1].isinf().all())
    assert bool(planes[1, 2].isfinite().all())


def test_infinite_and_nan_voxels_are_nonzero() -> None:
    """A mask of any values: only zeros, of either sign, are background."""
    mask = torch.tensor([0.0, math.inf, -math.inf, math.nan, 5e-324, -0.0], dtype=torch.float64)
    assert distance_transform(mask).tolist() == [0, 1, 2, 2, 1, 0]


def test_byte_swapped_input_is_never_misread() -> None:
    """torch refuses such an array; in the machine's own order it reads as what it means."""
    swapped = np.array([0, 1, 256, 1, 0], dtype=np.dtype(np.int16).newbyteorder())
    with pytest.raises(ValueError, match="byte order"):
        torch.from_numpy(swapped)
    native = torch.from_numpy(swapped.astype(np.int16))
    assert distance_transform(native).tolist() == [0, 1, 2, 1, 0]


def test_all_2x2_images() -> None:
    """Too small for any block: all sixteen, with unequal steps."""
    for values in itertools.product([False, True], repeat=4):
        mask = torch.tensor(values).reshape(2, 2)
        found = distance_transform(mask, (3.0, 4.0))
        if mask.all():
            assert bool((found == math.inf).all())
        else:
            assert torch.equal(found.double(), brute_force(mask, (3.0, 4.0))[0])


@pytest.mark.parametrize("shape", [(3, 50), (50, 3), (1, 70, 2), (70, 1, 2), (2, 3, 70), (65, 17)])
def test_unequal_sides(shape: tuple[int, ...]) -> None:
    """Neither sides nor steps may change places."""
    mask = torch.from_numpy(random_mask(shape, 6, kind=0))
    spacing = (2.5, 1.0, 0.8)[: len(shape)]
    assert_within_one_ulp(distance_transform(mask, spacing), brute_force(mask, spacing)[0])


@settings(max_examples=100, deadline=None)
@given(seed=SEEDS, begin=st.integers(0, 8), size=st.integers(4, 20))
def test_cropping_does_not_change_what_it_keeps(seed: int, begin: int, size: int) -> None:
    """The border is no background: where the nearest zero is kept, so is the distance."""
    mask = torch.from_numpy(random_mask((28, 28), seed, kind=0))
    distances, nearest = distance_transform(mask, return_nearest=True)
    crop = (slice(begin, begin + size), slice(begin, begin + size))
    row, column = nearest[crop] // 28, nearest[crop] % 28
    is_kept = (row >= begin) & (row < begin + size) & (column >= begin) & (column < begin + size)
    is_kept &= nearest[crop] >= 0
    cropped = distance_transform(mask[crop])
    assert torch.equal(cropped[is_kept], distances[crop][is_kept])
    assert bool((cropped >= distances[crop]).all())


@pytest.mark.parametrize("spacing", [(2.5, 1.0, 0.8), (1e-3, 1.0, 1e3), (0.3, 0.3, 5.0)])
def test_boundary_is_zero_under_anisotropy(spacing: tuple[float, ...]) -> None:
    """Background is exactly 0, and its neighbour at most one step away."""
    mask = torch.from_numpy(random_mask((20, 21, 40), 9, kind=1))
    found = distance_transform(mask, spacing)
    assert torch.equal(found == 0, ~mask)
    for axis, step in enumerate(spacing):
        length = mask.shape[axis]
        here, there = found.narrow(axis, 0, length - 1), found.narrow(axis, 1, length - 1)
        # Each distance is rounded once.
        assert float((here - there).abs().max()) <= step + 2**-23 * float(found.max())
