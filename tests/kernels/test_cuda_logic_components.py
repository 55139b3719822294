"""The passes of connected_components.cu, executed on the CPU in random order."""

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from host_programs import FIBERS, NATIVE, HostProgram, Results, build_program, case_bytes
from numpy.typing import NDArray
from scipy import ndimage

NUM_NOISE_CASES = 100
NUM_WATCHED_CASES = 20
ID_BYTES = (4, 8)
COLUMNS = ("volumes", "voxels", "boxes", "centroids", "sums", "minima")

Table = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Run:
    """One batch of volumes, and how its indices are ordered."""

    mask: NDArray[np.uint8]
    """(volumes, depth, height, width)."""
    values: NDArray[np.float64]
    connectivity: int
    seed: int
    threads: int
    id_bytes: int = 4

    @property
    def content(self) -> bytes:
        header = (self.connectivity, *self.mask.shape, self.seed, self.threads, self.id_bytes)
        return case_bytes(header, self.mask, self.values)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> HostProgram:
    """Labels and measures masks."""
    directory = tmp_path_factory.mktemp("components")
    return build_program("components", "connected_components", directory)


def _noise(seed: int, threads: tuple[int, ...], count: int) -> Iterator[Run]:
    """Masks of every density, connectivity and shape around the size of a word."""
    random = np.random.default_rng(seed)
    for number in range(count):
        # Tall and narrow: long chains of hooks. Wide: words and bundles with neighbours.
        shape = (
            (1, int(random.choice([1, 2, 12])), 24, int(random.choice([1, 3, 33])))
            if number % 2
            else (
                int(random.integers(1, 4)),
                int(random.integers(1, 8)),
                int(random.integers(1, 10)),
                int(random.choice([1, 31, 32, 33, 64, 65, 100, 130])),
            )
        )
        density = random.choice([0.05, 0.2, 0.35, 0.5, 0.6, 0.8, 0.9])
        mask = np.where(random.random(shape) < density, random.integers(1, 256, shape), 0)
        yield Run(
            mask.astype(np.uint8),
            random.normal(size=shape) * 10.0 ** random.integers(-9, 9),
            connectivity=int(random.integers(1, 4)),
            seed=int(random.integers(0, 2**31)),
            threads=int(random.choice(threads)),
            id_bytes=ID_BYTES[number // 2 % 2],
        )


def _snake(height: int, width: int) -> NDArray[np.uint8]:
    """One path that fills an image without touching itself."""
    mask = np.zeros((1, 1, height, width), np.uint8)
    mask[0, 0, ::2] = 1
    mask[0, 0, 1::4, -1] = 1
    mask[0, 0, 3::4, 0] = 1
    return mask


def _checkerboard(*shape: int) -> NDArray[np.uint8]:
    board: NDArray[np.uint8] = (np.indices(shape)[1:].sum(0) % 2).astype(np.uint8)
    return board


SHAPES = {
    "no_voxel": np.zeros((2, 3, 5, 40), np.uint8),
    "every_voxel": np.ones((2, 5, 7, 70), np.uint8),
    "one_voxel": np.ones((1, 1, 1, 1), np.uint8),
    "line": np.array([1, 1, 0, 1] * 20, np.uint8).reshape(1, 1, 1, 80),
    "volume_1x1x4": np.array([1, 0, 1, 1], np.uint8).reshape(1, 1, 1, 4),
    "volume_3x4x4": np.ones((1, 3, 4, 4), np.uint8),
    "snake": _snake(61, 67),
    "checkerboard": _checkerboard(2, 4, 9, 66),
    "stripes": np.tile(np.array([[1], [0]], np.uint8), (1, 1, 12, 37)),
    "more_than_one_block_of_a_scan": _checkerboard(1, 1, 33_000, 2),
}


def _label(run: Run) -> list[tuple[NDArray[np.int32], int]]:
    """Labels and their number, volume by volume; SciPy's are in raster order too."""
    structure = ndimage.generate_binary_structure(3, run.connectivity)
    return [ndimage.label(volume != 0, structure) for volume in run.mask]


def _check(program: HostProgram, runs: list[Run]) -> list[Table]:
    """Hold labels and counts to SciPy's; returns the tables."""
    results = program.run(run.content for run in runs)
    tables = []
    for run in runs:
        tables.append(_take_table(results))
        counts = results.take("i8", len(run.mask))
        labels = results.take("i8", *run.mask.shape)
        for found, count, (truth, number) in zip(labels, counts, _label(run), strict=True):
            np.testing.assert_array_equal(found, truth)
            assert count == number
    results.assert_empty()
    return tables


def _take_table(results: Results) -> Table:
    rows = int(results.take("i8", 1)[0])
    shapes = ((rows,), (rows,), (rows, 3, 2), (rows, 3), (rows,), (rows,))
    dtypes = ("i8", "i8", "i8", "f8", "f8", "f8")
    return {
        name: results.take(dtype, *shape)
        for name, dtype, shape in zip(COLUMNS, dtypes, shapes, strict=True)
    }


def _measure(run: Run) -> Table:
    """The table, component by component."""
    rows = []
    for volume, (labels, number) in enumerate(_label(run)):
        for label in range(1, number + 1):
            places = np.argwhere(labels == label)
            box = np.stack((places.min(0), places.max(0) + 1), 1)
            values = run.values[volume][labels == label]
            rows.append((volume, len(places), box, places.mean(0), values.sum(), values.min()))
    return {name: np.array([row[i] for row in rows]) for i, name in enumerate(COLUMNS)}


def test_labels_are_canonical_in_any_order(program: HostProgram) -> None:
    """Noise of any shape and connectivity gets SciPy's labels, whichever index runs when."""
    assert _check(program, list(_noise(1, (FIBERS,), NUM_NOISE_CASES)))


def test_labels_are_canonical_on_threads(program: HostProgram) -> None:
    """The same on 2 to 8 threads that run at once."""
    assert _check(program, list(_noise(2, (2, 3, 4, 8), NUM_NOISE_CASES)))


@pytest.mark.parametrize("name", SHAPES)
def test_labels_of_shapes_that_peers_get_wrong(program: HostProgram, name: str) -> None:
    """Empty, full, single, long and regular masks at every connectivity."""
    mask = SHAPES[name]
    orders = ((1, FIBERS, 4), (2, 4, 8)) if mask.size < 10_000 else ((1, 4, 4),)
    runs = [
        Run(mask, np.zeros(mask.shape), connectivity, *order)
        for connectivity in (1, 2, 3)
        for order in orders
    ]
    assert _check(program, runs)


def test_labelling_has_no_data_race(tmp_path: Path) -> None:
    """ThreadSanitizer sees no two threads at one place without an atomic operation."""
    watched = build_program("components", "connected_components", tmp_path, watches_threads=True)
    assert _check(watched, list(_noise(3, (2, 4), NUM_WATCHED_CASES)))


@pytest.mark.parametrize(
    ("broken", "watches_threads", "message"),
    [
        ("atomic_store(address, wanted);", False, "not equal"),
        ("*address = wanted;", True, "data race"),
    ],
    ids=["unconditional", "not-atomic"],
)
def test_a_lost_hook_is_noticed(
    tmp_path: Path, broken: str, watches_threads: bool, message: str
) -> None:
    """The checks above can fail: hooks that overwrite another give wrong labels, or race."""
    native = tmp_path / "native"
    shutil.copytree(NATIVE, native)
    header = native / "host_device.h"
    hook = re.compile(r"std::atomic_ref<Word>\(\*address\)\.compare_exchange_strong\(.*\);")
    content, number = hook.subn(broken, header.read_text())
    assert number == 1
    header.write_text(content)
    program = build_program(
        "components",
        "connected_components",
        tmp_path,
        watches_threads=watches_threads,
        native=native,
    )
    runs = list(_noise(4, (4,) if watches_threads else (FIBERS,), 40))
    with pytest.raises(AssertionError, match=message):
        _check(program, runs)


def test_table_measures_components_in_any_order(program: HostProgram) -> None:
    """Sizes, boxes, centroids, sums and minima equal NumPy's, to the bit at every order."""
    runs = list(_noise(6, (FIBERS, 2, 4), 40))
    again = [replace(run, seed=run.seed + 1, threads=3) for run in runs]
    for run, found, repeated in zip(
        runs, _check(program, runs), _check(program, again), strict=True
    ):
        # Each sum rounds its terms: these of a run, NumPy's voxel by voxel.
        size = float(np.abs(run.values[run.mask != 0]).sum())
        for name, truth in _measure(run).items():
            np.testing.assert_array_equal(found[name], repeated[name])
            slack = 1e-15 * size if name == "sums" else 0.0
            np.testing.assert_allclose(found[name], truth, rtol=1e-15, atol=slack)


def test_table_tells_nan_and_infinities(program: HostProgram) -> None:
    """A NaN makes sum and minimum NaN; infinities go through, and opposite ones cancel to NaN."""
    rows = np.zeros((1, 1, 9, 40), np.uint8)
    rows[0, 0, ::2] = 1
    values = np.ones(rows.shape)
    values[0, 0, 0, 7] = np.nan
    values[0, 0, 2, 35] = np.inf
    values[0, 0, 4, 1] = -np.inf
    values[0, 0, 6, [1, 38]] = (np.inf, -np.inf)
    values[0, 0, 8] = 5e-324
    (table,) = _check(program, [Run(rows, values, 2, 1, 2)])
    np.testing.assert_array_equal(table["sums"], [np.nan, np.inf, -np.inf, np.nan, 40 * 5e-324])
    np.testing.assert_array_equal(table["minima"], [np.nan, 1, -np.inf, -np.inf, 5e-324])
