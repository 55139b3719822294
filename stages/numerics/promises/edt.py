"""edt(mask, spacing): the Euclidean distance transform as the published contract states it.

Distance of every nonzero voxel to the nearest zero voxel, +inf where there is none; float32, or
float64 for float64 masks; one spacing > 0 an axis; NaN is refused.
"""

from collections.abc import Iterator
from itertools import permutations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kernels.operator import Tolerance
from stages.numerics.probe import Probe, dtype_name
from stages.numerics.promise import Promise
from stages.numerics.promises.ccl import DTYPES
from stages.numerics.promises.masks import (
    BLOCK_SHAPES,
    SMALL_SHAPES,
    as_dtype,
    blobs,
    odd_nan,
    patterns,
    remainder_shapes,
)

SINGLE = Tolerance(
    absolute=0.0,
    relative=5e-7,
    reason="float32: squares of spacing, two sums and a root, each rounded by 2**-24 at most",
)
DOUBLE = Tolerance(
    absolute=0.0, relative=1e-13, reason="float64: as above, with 2**-53, and lines of thousands"
)
MOST_BRUTE = 2_000
"""Voxels up to which every pair is looked at."""


def promise(seed: int) -> Promise:
    """What a distance transform is held to; the seed varies what is random."""
    generator = torch.Generator().manual_seed(seed)
    return Promise(
        reference=distances,
        probes=tuple(_probes(generator)),
        tolerance=lambda probe: DOUBLE if probe.args[0].dtype == torch.float64 else SINGLE,
        refused=tuple(_refused()),
        empty=tuple(_empty()),
        special=tuple(_special()),
        stress=tuple(_stress(generator)),
        result_dtypes=lambda probe: (
            torch.float64 if probe.args[0].dtype == torch.float64 else torch.float32,
        ),
    )


def distances(mask: Tensor, spacing: list[float]) -> Tensor:
    """The truth in float64: all pairs where that is feasible, otherwise SciPy's nearest voxels,
    measured anew.

    Raises:
        ValueError: rank, spacing, or NaN.
    """
    if not 1 <= mask.dim() <= 3:
        raise ValueError(f"mask must have 1 to 3 axes, got {mask.dim()}")
    if len(spacing) != mask.dim():
        raise ValueError(f"expected {mask.dim()} spacings, got {len(spacing)}")
    if not all(np.isfinite(step) and step > 0 for step in spacing):
        raise ValueError(f"spacing must be finite and > 0, got {spacing}")
    if mask.is_floating_point() and bool(mask.isnan().any()):
        raise ValueError("mask holds NaN")
    filled = (mask != 0).numpy()
    if filled.all():
        return torch.full(mask.shape, float("inf"), dtype=torch.float64)
    return torch.from_numpy(
        _brute(filled, spacing) if filled.size <= MOST_BRUTE else _measured(filled, spacing)
    )


def _brute(filled: NDArray[np.bool_], spacing: list[float]) -> NDArray[np.float64]:
    places = np.indices(filled.shape).reshape(filled.ndim, -1).T * np.asarray(spacing)
    background = places[~filled.ravel()]
    squares = ((places[:, None, :] - background[None, :, :]) ** 2).sum(-1)
    nearest: NDArray[np.float64] = np.sqrt(squares.min(axis=1)).reshape(filled.shape)
    return nearest


def _measured(filled: NDArray[np.bool_], spacing: list[float]) -> NDArray[np.float64]:
    from scipy import ndimage

    nearest = ndimage.distance_transform_edt(
        filled, sampling=spacing, return_distances=False, return_indices=True
    )
    steps = np.asarray(spacing).reshape(-1, *[1] * filled.ndim)
    offsets = (nearest - np.indices(filled.shape)) * steps
    measured: NDArray[np.float64] = np.sqrt((offsets**2).sum(axis=0))
    return measured


def _probes(generator: torch.Generator) -> Iterator[Probe]:
    count = 0
    for shape in (*((size,) for size in (1, 2, 7, 64, 65)), *SMALL_SHAPES, *BLOCK_SHAPES):
        two_axes = shape if len(shape) > 1 else (1, *shape)
        for name, mask in patterns(two_axes, generator):
            dtype = DTYPES[count % len(DTYPES)]
            count += 1
            kinds = ("of 1", "equal", "unequal") if mask.numel() < 500 else ("unequal",)
            for kind in kinds:
                yield _probe(as_dtype(mask.view(shape), dtype), _spacing(len(shape), kind), name)
    for extreme in ([3.0, 1.0, 0.5], [1e-3, 1.0, 1e3], [1e-6, 2e-6, 3e-6], [1e4, 3e4, 2e4]):
        for shape in ((7, 9), (6, 7, 8)):
            mask = torch.rand(shape, generator=generator) < 0.9
            yield _probe(mask, extreme[: len(shape)], "noise")
    for order in permutations((2.5, 1.0, 0.8)):
        yield _probe(torch.rand((6, 7, 5), generator=generator) < 0.9, list(order), "90 % noise")
    for shape in remainder_shapes():
        mask = torch.rand(shape, generator=generator) < 0.9
        yield _probe(mask, _spacing(len(shape), "unequal"), "90 % noise")
    for _ in range(40):
        count += 1
        shape = tuple(torch.randint(1, 12, (1 + count % 3,), generator=generator).tolist())
        share = float(torch.rand((), generator=generator))
        mask = torch.rand(shape, generator=generator) < share
        steps = (torch.rand(len(shape), generator=generator) * 4 + 0.1).double().tolist()
        yield _probe(as_dtype(mask, DTYPES[count % len(DTYPES)]), steps, "random")


def _spacing(num_axes: int, kind: str) -> list[float]:
    steps = {"of 1": [1.0] * 3, "equal": [0.7] * 3, "unequal": [2.5, 1.0, 0.8]}[kind]
    return steps[:num_axes]


def _probe(mask: Tensor, spacing: list[float], pattern: str) -> Probe:
    return Probe(
        (mask, spacing),
        {},
        {
            "dtype": dtype_name(mask.dtype),
            "axes": str(mask.dim()),
            "spacing": "equal" if len(set(spacing)) == 1 else "unequal",
            "pattern": pattern,
            "background": "absent" if bool((mask != 0).all()) else "present",
        },
    )


def _refused() -> Iterator[Probe]:
    square = torch.ones((3, 3), dtype=torch.bool)
    square[0, 0] = False
    for step in (0.0, -1.0, float("nan"), float("inf")):
        yield Probe((square, [1.0, step]), {}, {"spacing": str(step)})
    for steps in ([1.0], [1.0, 1.0, 1.0], []):
        yield Probe((square, steps), {}, {"spacing": f"{len(steps)} for 2 axes"})
    yield Probe((torch.ones((2, 2, 2, 2)), [1.0] * 4), {}, {"axes": "4"})
    yield Probe((torch.ones(()), []), {}, {"axes": "0"})


def _empty() -> Iterator[Probe]:
    for shape in ((0,), (0, 4), (4, 0), (0, 3, 3), (3, 0, 3), (3, 3, 0)):
        for dtype in (torch.bool, torch.float64):
            yield _probe(torch.zeros(shape, dtype=dtype), _spacing(len(shape), "unequal"), "empty")


def _special() -> Iterator[Probe]:
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        smallest = torch.finfo(dtype).smallest_normal * torch.finfo(dtype).eps
        for name, value in (
            ("NaN", float("nan")),
            ("+inf", float("inf")),
            ("-inf", -float("inf")),
            ("-0.0", -0.0),
            ("the smallest number", smallest),
        ):
            for place in (0, 5, 11):
                mask = torch.ones(12, dtype=dtype)
                mask[6] = 0
                mask[place] = value
                yield _probe(mask.view(3, 4), [1.0, 0.5], "one value").noting(value=name)
        mask = torch.ones((3, 4), dtype=dtype)
        mask[1, 2], mask[0, 0] = 0, odd_nan(dtype)
        yield _probe(mask, [1.0, 0.5], "one value").noting(value="NaN of other bits")
        mask = torch.ones((3, 4), dtype=dtype)
        mask[1, 2], mask[0, 0], mask[2, 3] = 0, float("inf"), -float("inf")
        yield _probe(mask, [1.0, 0.5], "two values").noting(value="+inf and -inf")


def _stress(generator: torch.Generator) -> Iterator[Probe]:
    """Long lines, far searches, extreme spacing, sizes of a real job."""
    shape: tuple[int, ...]
    for shape in (
        (9001,),
        (1, 20_011),
        (20_011, 1),
        (2, 9001),
        (9001, 2),
        (3, 4_100),
        (1, 2, 9001),
        (2, 9001, 1),
        (9001, 1, 2),
    ):
        steps = [1.0, 0.9, 1.1][: len(shape)]
        for place in ("first", "last"):
            mask = torch.ones(shape, dtype=torch.bool)
            mask.view(-1)[0 if place == "first" else -1] = False
            yield _probe(mask, steps, f"one zero, the {place}")
            yield _probe(mask.double(), steps, f"one zero, the {place}")
    for shape in ((1, 70_003), (70_003, 1), (70_003, 1, 1)):
        mask = torch.ones(shape, dtype=torch.uint8)
        mask.view(-1)[17] = 0
        yield _probe(mask, [1.0] * len(shape), "distances beyond 65,535")
    jobs: tuple[tuple[tuple[int, ...], list[float]], ...] = (
        ((350, 420), [1.0, 1.0]),
        ((60, 70, 65), [2.5, 1.0, 0.8]),
        ((256, 512), [1.0, 1.3]),
        ((16, 128, 64), [2.5, 1.0, 0.8]),
    )
    for shape, steps in jobs:
        mask = torch.ones(shape, dtype=torch.bool)
        mask.view(-1)[mask.numel() // 3] = False
        yield _probe(mask, steps, "one zero")
        yield _probe(torch.ones(shape, dtype=torch.bool), steps, "all ones")
        yield _probe(blobs(shape, generator), steps, "blobs")
        yield _probe(torch.rand(shape, generator=generator) < 0.5, steps, "50 % noise")
        yield _probe(torch.rand(shape, generator=generator) < 0.999, steps, "far zeros")
        yield _probe(
            torch.rand(shape, generator=generator) < 0.999,
            [0.01, 100.0, 1.0][: len(shape)],
            "far zeros",
        )
    yield _probe(torch.rand((9000, 24), generator=generator) < 0.9995, [0.3, 7.0], "far zeros")
    yield _probe(torch.rand((24, 9000), generator=generator) < 0.9995, [7.0, 0.3], "far zeros")
