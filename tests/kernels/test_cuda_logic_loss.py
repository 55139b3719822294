"""The passes of lesion_loss.cu, executed on the CPU in random order."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from host_programs import FIBERS, HostProgram, build_program, case_bytes
from numpy.typing import NDArray

NUM_NOISE_CASES = 60
NUM_WATCHED_CASES = 12
MAX_SLOT = 40
SLOT_TYPES = (np.uint8, np.int16, np.int32, np.int64)
BLOCK = 4096
"""kLossBlock of loss_passes.h."""

Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Run:
    """One batch, (samples, voxels), and how its indices are ordered."""

    logits: Floats
    slots: NDArray[np.integer[Any]]
    lesion: NDArray[np.bool_]
    ignore: NDArray[np.bool_]
    weights: NDArray[np.float64]
    has_regions: bool
    seed: int
    threads: int
    scale: float = 1.75

    @property
    def content(self) -> bytes:
        is_double = self.logits.dtype == np.float64
        sizes = (*self.logits.shape, self.has_regions, is_double, self.seed, self.threads)
        return case_bytes(
            (*sizes, MAX_SLOT, self.slots.itemsize),
            self.weights,
            np.array([self.scale]),
            self.logits,
            self.slots,
            self.lesion,
            self.ignore,
        )


@dataclass(frozen=True)
class Answer:
    """Loss, coefficients (samples, rows, slots) and gradient."""

    loss: float
    coefficients: Floats
    gradient: Floats


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> HostProgram:
    """Computes losses and gradients."""
    return build_program("loss", "lesion_loss", tmp_path_factory.mktemp("loss"))


def _noise(seed: int, threads: tuple[int, ...], count: int) -> Iterator[Run]:
    """Runs of slots of every length, across blocks or within one; some voxels are ignored."""
    random = np.random.default_rng(seed)
    for number in range(count):
        shape = (
            int(random.integers(1, 4)),
            int(random.choice([1, 100, BLOCK - 1, BLOCK, BLOCK + 1, 9000])),
        )
        length = int(random.choice([1, 7, 300]))
        runs = random.integers(0, random.choice([1, 2, 5, MAX_SLOT + 1]), (shape[0], shape[1]))
        slots = np.repeat(runs, length, axis=1)[:, : shape[1]]
        yield Run(
            random.normal(-1, 4, shape).astype((np.float32, np.float64)[number % 2]),
            slots.astype(SLOT_TYPES[number % len(SLOT_TYPES)]),
            random.random(shape) < random.choice([0.0, 0.3]),
            random.random(shape) < random.choice([0.0, 0.2, 1.0], p=[0.6, 0.3, 0.1]),
            random.random(shape[0]),
            has_regions=bool(random.integers(0, 2)),
            seed=int(random.integers(0, 2**31)),
            threads=int(random.choice(threads)),
        )


def _truth(run: Run) -> Answer:
    """Slot by slot in float64, as lesion_loss.h and reference.py define it."""
    num_samples = len(run.logits)
    table = np.zeros((num_samples, 3 if run.has_regions else 1, MAX_SLOT + 1))
    gradient = np.zeros(run.logits.shape)
    loss = 0.0
    for n in range(num_samples):
        counted = ~run.ignore[n]
        x, slots, lesion = run.logits[n].astype(float), run.slots[n], run.lesion[n]
        p = np.exp(-np.logaddexp(0, -x))
        slope = p * np.exp(-np.logaddexp(0, x))
        weight = run.weights[n] / num_samples
        present = np.unique(slots[counted])
        present = present[present != 0]
        chosen = present if len(present) or not run.has_regions else np.unique(slots[counted])
        share = weight / max(len(chosen), 1)
        rows = table[n]
        background = p[counted & (slots == 0)].sum()
        for slot in chosen:
            here = counted & (slots == slot)
            if run.has_regions:
                loss += share * _region(p, x, here, lesion, share, rows[:, slot])
                continue
            size, inside = here.sum(), p[here].sum()
            total = inside + background + size
            loss += share * (background + size - inside) / total
            rows[0, slot] = share * -2 * (background + size) / total**2
            rows[0, 0] += share * 2 * inside / total**2
        if not run.has_regions and not len(chosen):
            loss += weight * background / (1 + background)
            rows[0, 0] = weight / (1 + background) ** 2
        truth = lesion.astype(int)
        if run.has_regions:
            dice = rows[truth, slots] * slope
            error = np.where(lesion, -np.exp(-np.logaddexp(0, x)), p)
            gradient[n] = run.scale * (dice + rows[2, slots] * error) * counted
        else:
            gradient[n] = run.scale * rows[0, slots] * slope * counted
    return Answer(loss, table, gradient)


def _region(
    p: Floats,
    x: Floats,
    here: NDArray[np.bool_],
    lesion: NDArray[np.bool_],
    share: float,
    column: Floats,
) -> float:
    """Cost of a region; fills its column of the coefficients."""
    total, size, inside = p[here].sum(), (here & lesion).sum(), p[here & lesion].sum()
    entropy = np.logaddexp(0, np.where(lesion, -x, x))[here].mean()
    column[2] = share / here.sum()
    if size == 0:
        column[0] = share / (1 + total) ** 2
        return float(total / (1 + total) + entropy)
    column[0] = share * 2 * inside / (total + size) ** 2
    column[1] = share * -2 * (total + size - inside) / (total + size) ** 2
    return float((total + size - 2 * inside) / (total + size) + entropy)


def _answers(program: HostProgram, runs: list[Run]) -> Iterator[Answer]:
    results = program.run(run.content for run in runs)
    for run in runs:
        dtype = run.logits.dtype.str
        table = (len(run.logits), 3 if run.has_regions else 1, MAX_SLOT + 1)
        loss = results.take(dtype, 1)[0]
        yield Answer(loss, results.take("f8", *table), results.take(dtype, *run.logits.shape))
    results.assert_empty()


def _check(program: HostProgram, runs: list[Run]) -> None:
    for run, found in zip(runs, _answers(program, runs), strict=True):
        expected = _truth(run)
        # Float32 logits: p is rounded, absolutely where dice is near 1, and so is the result.
        # Float64: sums of up to 9000 terms.
        slack = 1e-6 if run.logits.dtype == np.float32 else 1e-12
        np.testing.assert_allclose(found.loss, expected.loss, rtol=slack, atol=slack / 5)
        np.testing.assert_allclose(found.coefficients, expected.coefficients, rtol=slack)
        np.testing.assert_allclose(found.gradient, expected.gradient, rtol=4 * slack, atol=1e-300)


def test_losses_are_right_in_any_order(program: HostProgram) -> None:
    """Loss, coefficients and gradient of both kinds equal NumPy's."""
    _check(program, list(_noise(1, (FIBERS,), NUM_NOISE_CASES)))


def test_losses_are_right_on_threads(program: HostProgram) -> None:
    """The same on 2 to 8 threads that run at once."""
    _check(program, list(_noise(2, (2, 3, 4, 8), NUM_NOISE_CASES)))


def test_losses_are_the_same_to_the_bit_in_every_order(program: HostProgram) -> None:
    """Sums do not depend on which thread was first."""
    runs = list(_noise(3, (FIBERS, 2), 20))
    orders = [runs, *([replace(r, seed=r.seed + i, threads=3) for r in runs] for i in (1, 2))]
    first, *others = (list(_answers(program, order)) for order in orders)
    for other in others:
        for one, two in zip(first, other, strict=True):
            assert one.loss == two.loss
            np.testing.assert_array_equal(one.coefficients, two.coefficients)
            np.testing.assert_array_equal(one.gradient, two.gradient)


@pytest.mark.parametrize("has_regions", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extreme_logits_keep_their_meaning(
    program: HostProgram, dtype: Any, has_regions: bool
) -> None:
    """Tiny probabilities are not lost in the sums, large cross-entropies do not leave their range,
    and NaN and infinity come out as such.
    """
    largest = float(np.finfo(dtype).max) / 1e5
    slots = np.array([[0, 0, 3, 3, 3, 7]], np.int32)
    lesion = np.array([[0, 0, 1, 0, 1, 1]], bool)
    rows = {
        "tiny": [-60, -70, -80, -60, -75, -85],
        "large": [largest, -3, -largest / 2, largest, 1, -1],
        "infinite": [1, 2, -np.inf, 1, 2, 3],
        "nan": [1, 2, np.nan, 1, 2, 3],
    }
    runs = {
        name: Run(
            np.array([row], dtype), slots, lesion, ~(slots >= 0), np.ones(1), has_regions, 1, 2
        )
        for name, row in rows.items()
    }
    found = dict(zip(runs, _answers(program, list(runs.values())), strict=True))
    for name in ("tiny", "large"):
        expected = _truth(runs[name])
        np.testing.assert_allclose(found[name].loss, expected.loss, rtol=1e-6)
        np.testing.assert_allclose(found[name].coefficients, expected.coefficients, rtol=1e-6)
    assert np.isinf(found["infinite"].loss) == has_regions
    assert np.isnan(found["nan"].loss)


def test_a_slot_out_of_range_is_refused(program: HostProgram) -> None:
    """It is said which number came and which are taken; on a GPU the device then stops."""
    (run,) = _noise(5, (2,), 1)
    bad = run.slots.astype(np.int32)
    bad[0, -1] = MAX_SLOT + 1
    with pytest.raises(AssertionError, match=r"regions must be 0 \(background\) to 40, got 41"):
        program.run([replace(run, slots=bad).content])


def test_losses_have_no_data_race(tmp_path: Path) -> None:
    """ThreadSanitizer sees no two threads at one place without an atomic operation."""
    watched = build_program("loss", "lesion_loss", tmp_path, watches_threads=True)
    _check(watched, list(_noise(4, (2, 4), NUM_WATCHED_CASES)))
