"""Masks, instruction sets and comparisons that the tests of the distance transform share."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product

import numpy as np
import torch
from hypothesis import strategies as st

LEVELS = ("portable", "avx2", "avx512")
BLOCK = 16
"""Columns that are worked on together; four of them share a word of bits."""


def available_levels() -> list[str]:
    """The instruction sets of this machine, by asking for each."""

    return [name for name in LEVELS if _is_available(name)]


def _is_available(name: str) -> bool:
    from kernels.distance_transform import distance_transform

    with cpu_level(name):
        try:
            distance_transform(torch.zeros(1))
        except RuntimeError as error:
            if "this machine has no" not in str(error):
                raise
            return False
    return True


@contextmanager
def cpu_level(name: str) -> Iterator[None]:
    """Force an instruction set; not a fixture, since one example goes through them all."""
    before = os.environ.get("BREAKEVEN_CPU_LEVEL")
    os.environ["BREAKEVEN_CPU_LEVEL"] = name
    try:
        yield
    finally:
        if before is None:
            del os.environ["BREAKEVEN_CPU_LEVEL"]
        else:
            os.environ["BREAKEVEN_CPU_LEVEL"] = before


@contextmanager
def num_threads(count: int) -> Iterator[None]:
    """Let torch use that many threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _sizes(largest: int) -> st.SearchStrategy[int]:
    edges = [1, 2, 3, BLOCK - 1, BLOCK, BLOCK + 1, 4 * BLOCK - 1, 4 * BLOCK, 4 * BLOCK + 1, 130]
    return st.one_of(
        st.integers(1, largest), st.sampled_from([edge for edge in edges if edge <= largest])
    )


SHAPES = st.one_of(
    st.tuples(_sizes(300)),
    st.tuples(_sizes(130), _sizes(130)),
    st.tuples(_sizes(24), _sizes(24), _sizes(70)),
    # One long axis: searches that are too long, and what then takes their place.
    st.tuples(_sizes(4), st.integers(100, 200), _sizes(4)),
    st.tuples(st.integers(100, 200), _sizes(4), _sizes(4)),
)
SEEDS = st.integers(0, 2**32 - 1)
# Equal, in ratios of small whole numbers, of float32 as headers hold them, and of any kind.
COMMON_SPACINGS = ((1.0, 1.0, 1.0), (0.7, 0.7, 0.7), (2.5, 1.0, 0.8), (4.0, 0.5, 0.5))
SPACINGS = st.one_of(
    st.sampled_from(COMMON_SPACINGS),
    st.sampled_from(COMMON_SPACINGS).map(lambda steps: tuple(map(float, map(np.float32, steps)))),
    st.tuples(*[st.floats(1e-3, 1e3)] * 3),
    st.tuples(*[st.integers(-30, 30).map(lambda exponent: 10.0**exponent)] * 3),
)


def _noise(shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
    inside = generator.choice([0.02, 0.5, 0.9, 0.99, 0.999])
    return generator.random(shape) < inside


def _blobs(shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
    coarse = generator.random([size // 7 + 1 for size in shape]) < generator.choice([0.1, 0.5, 0.9])
    for axis in range(len(shape)):
        coarse = coarse.repeat(7, axis)
    return coarse[tuple(slice(size) for size in shape)]


def _checkerboard(shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
    period = int(generator.integers(1, 4))
    return (np.indices(shape).sum(0) // period) % 2 == 0


def _stripes(shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
    axis, period = generator.integers(len(shape)), generator.integers(2, 9)
    return np.indices(shape)[axis] % period != 0


def _one_zero(shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
    mask = np.ones(shape, bool)
    mask[tuple(generator.integers(size) for size in shape)] = False
    return mask


def _one_zero_a_column(shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
    """Neighbouring columns have nothing in common."""
    return np.arange(shape[0]).reshape([-1] + [1] * (len(shape) - 1)) != generator.integers(
        shape[0], size=(1, *shape[1:])
    )


KINDS: tuple[Callable[..., np.ndarray], ...] = (
    _noise,
    _blobs,
    _checkerboard,
    _stripes,
    _one_zero,
    _one_zero_a_column,
)


def random_mask(shape: tuple[int, ...], seed: int, kind: int | None = None) -> np.ndarray:
    """A mask of some kind with one zero at least: SciPy has no answer without."""
    generator = np.random.default_rng(seed)
    make = KINDS[generator.integers(len(KINDS)) if kind is None else kind]
    mask = make(shape, generator)
    if generator.random() < 0.5:
        mask = ~mask
    if mask.all():
        mask[tuple(generator.integers(size) for size in shape)] = False
    return mask


def assert_within_one_ulp(actual: torch.Tensor, truth: torch.Tensor, what: object = "") -> None:
    """The float32 next to the truth or one of its two neighbours; infinities as they are."""
    nearest = truth.double().float()
    least = torch.nextafter(nearest, torch.tensor(-torch.inf))
    most = torch.nextafter(nearest, torch.tensor(torch.inf))
    is_right = (actual >= least) & (actual <= most)
    is_right &= actual.isinf() == truth.float().isinf()
    assert bool(is_right.all()), (what, actual[~is_right], truth[~is_right])


def distances_of(
    nearest: torch.Tensor, shape: tuple[int, ...], spacing: tuple[float, ...]
) -> torch.Tensor:
    """float64 distance from every voxel of one volume to the voxel that it leads to."""
    # A power of two keeps squares in range.
    unit = 2.0 ** round(float(np.log2(max(spacing) * min(spacing))) / 2)
    here = np.indices(shape).reshape(len(shape), -1)
    there = np.array(np.unravel_index(nearest.reshape(-1).numpy(), shape))
    steps = np.array(spacing)[:, None] / unit
    squared = (((here - there) * steps) ** 2).sum(0)
    return torch.from_numpy(np.sqrt(squared) * unit).reshape(shape)


def brute_force(
    mask: torch.Tensor, spacing: tuple[float, ...]
) -> tuple[torch.Tensor, torch.Tensor]:
    """The definition, pair by pair: float64 distances, and the first nearest zero of each voxel."""
    points = torch.tensor(list(product(*map(range, mask.shape)))).reshape(-1, mask.dim())
    zeros = torch.nonzero(mask.reshape(-1) == 0)[:, 0]
    offsets = (points[:, None] - points[zeros]) * torch.tensor(spacing, dtype=torch.float64)
    squared = (offsets**2).sum(-1)
    first = squared.argmin(1)  # of equal ones the first
    lowest = squared.gather(1, first[:, None])[:, 0]
    return lowest.sqrt().reshape(mask.shape), zeros[first].reshape(mask.shape)
