"""The passes of distance_transform.cu, executed on the CPU in random order."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from host_programs import FIBERS, HostProgram, build_program, case_bytes
from numpy.typing import NDArray

NUM_NOISE_CASES = 80
NUM_WATCHED_CASES = 16
UNIT = 1.5


@dataclass(frozen=True)
class Run:
    """One batch of volumes, and how its indices are ordered."""

    mask: NDArray[np.uint8]
    """(volumes, depth, height, width)."""
    steps: tuple[float, float, float]
    is_signed: bool
    seed: int
    threads: int
    place_bytes: int = 4

    @property
    def is_whole(self) -> bool:
        """Whether squared distances are counted in integers."""
        return all(step == round(step) for step in self.steps)

    @property
    def content(self) -> bytes:
        order = (self.seed, self.threads, self.place_bytes)
        header = (*self.mask.shape, self.is_signed, self.is_whole, *order)
        return case_bytes(header, np.array([*self.steps, UNIT]), self.mask)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> HostProgram:
    """Finds distances and the voxels that they lead to."""
    return build_program("nearest", "distance_transform", tmp_path_factory.mktemp("nearest"))


def _noise(seed: int, threads: tuple[int, ...], count: int) -> Iterator[Run]:
    """Masks of every density, in volumes and slices, with whole and with other steps."""
    random = np.random.default_rng(seed)
    for number in range(count):
        shape = (
            int(random.integers(1, 3)),
            int(random.choice([1, 1, 2, 3, 7, 8, 9])),
            int(random.integers(1, 12)),
            int(random.choice([1, 2, 31, 33, 40])),
        )
        whole = tuple(float(step) for step in random.integers(1, 6, 3))
        other = tuple(float(step) for step in random.choice([0.3, 0.7, 1.1, 2.5, 1e-3, 1e3], 3))
        density = random.choice([0.0, 0.05, 0.5, 0.9, 0.99, 1.0])
        yield Run(
            (random.random(shape) < density).astype(np.uint8),
            whole if number % 2 else other,  # type: ignore[arg-type]
            is_signed=bool(random.integers(0, 2)),
            seed=int(random.integers(0, 2**31)),
            threads=int(random.choice(threads)),
            place_bytes=(4, 8)[number // 2 % 2],
        )


def _truth(
    is_site: NDArray[np.bool_], steps: tuple[float, float, float]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Squared distance to the nearest site and its flat index, by looking at all of them."""
    sites = np.argwhere(is_site)
    voxels = np.argwhere(np.ones_like(is_site))
    if not len(sites):
        return np.full(is_site.shape, np.inf), np.full(is_site.shape, -1)
    offsets = (voxels[:, None] - sites[None]) * np.array(steps)
    squares = (offsets[..., 2] ** 2 + offsets[..., 1] ** 2) + offsets[..., 0] ** 2
    first = squares.argmin(1)  # sites are in raster order: of equally near ones the first
    flat = np.ravel_multi_index(tuple(sites[first].T), is_site.shape)
    return squares.min(1).reshape(is_site.shape), flat.reshape(is_site.shape)


def _check(program: HostProgram, runs: list[Run]) -> None:
    results = program.run(run.content for run in runs)
    for run in runs:
        distances = results.take("f4", *run.mask.shape)
        nearest = results.take("i8", *run.mask.shape)
        for volume, found, places in zip(run.mask, distances, nearest, strict=True):
            inside = volume != 0
            squares, flat = _truth(~inside, run.steps)
            expected = UNIT * np.sqrt(squares)
            if run.is_signed:
                outside, flat_outside = _truth(inside, run.steps)
                expected = np.where(inside, expected, -UNIT * np.sqrt(outside))
                flat = np.where(inside, flat, flat_outside)
            # Whole squares are exact; others round in double, which float32 does not show twice.
            slack = 0.0 if run.is_whole else 1.2e-7
            np.testing.assert_allclose(found, expected.astype(np.float32), rtol=slack)
            if run.is_whole:
                np.testing.assert_array_equal(places, flat)
    results.assert_empty()


def test_distances_are_exact_in_any_order(program: HostProgram) -> None:
    """Noise of any shape has the distances of brute force, and of equally near voxels the first."""
    _check(program, list(_noise(1, (FIBERS,), NUM_NOISE_CASES)))


def test_distances_are_exact_on_threads(program: HostProgram) -> None:
    """The same on 2 to 8 threads that run at once."""
    _check(program, list(_noise(2, (2, 3, 4, 8), NUM_NOISE_CASES)))


@pytest.mark.parametrize("is_signed", [False, True])
@pytest.mark.parametrize("place", [(0, 0, 0), (2, 3, 17), (4, 6, 39)])
def test_one_site_is_found_from_everywhere(
    program: HostProgram, place: tuple[int, int, int], is_signed: bool
) -> None:
    """The longest searches: all voxels lead to one, at a corner or in the middle."""
    mask = np.ones((1, 5, 7, 40), np.uint8)
    mask[(0, *place)] = 0
    runs = [
        Run(pattern, steps, is_signed, 3, 2)
        for pattern in (mask, 1 - mask)
        for steps in ((1.0, 1.0, 1.0), (3.0, 1.0, 2.0), (1e-3, 1e3, 1.0))
    ]
    _check(program, runs)


def test_columns_longer_than_a_16_bit_place(program: HostProgram) -> None:
    """Places of 8 bytes hold what 4 cannot: an axis of 70 000 voxels, its squares in double."""
    mask = np.ones((1, 1, 1, 70_000), np.uint8)
    mask[..., 69_000] = 0
    results = program.run(
        Run(line, (0.5, 0.5, 0.5), False, 1, 2, place_bytes=8).content
        for line in (mask, mask.reshape(1, 1, 70_000, 1))
    )
    expected = (UNIT * 0.5 * np.abs(np.arange(70_000) - 69_000)).astype(np.float32)
    for _ in range(2):
        np.testing.assert_array_equal(results.take("f4", 70_000), expected)
        np.testing.assert_array_equal(results.take("i8", 70_000), 69_000)


def test_distances_have_no_data_race(tmp_path: Path) -> None:
    """ThreadSanitizer sees no two threads at one place without an atomic operation."""
    watched = build_program("nearest", "distance_transform", tmp_path, watches_threads=True)
    _check(watched, list(_noise(3, (2, 4), NUM_WATCHED_CASES)))
