"""ccl(mask, connectivity=1): connected components as the published contract states them.

Nonzero is foreground; 2-D or 3-D; connectivity 1 to the number of axes; int64 labels 1..N in raster
order of each component's first voxel; NaN is refused.
"""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from kernels.operator import Tolerance
from stages.numerics.probe import Probe, dtype_name
from stages.numerics.promise import Promise
from stages.numerics.promises.masks import (
    BLOCK_SHAPES,
    SMALL_SHAPES,
    as_dtype,
    blobs,
    index_sum,
    odd_nan,
    patterns,
    remainder_shapes,
    serpentine,
    spiral,
    stairs,
)

DTYPES = (
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
)
EXACT = Tolerance(absolute=0.0, relative=0.0, reason="labels are whole numbers")


def promise(seed: int) -> Promise:
    """What a labelling is held to; the seed varies what is random."""
    generator = torch.Generator().manual_seed(seed)
    return Promise(
        reference=label,
        probes=tuple(_probes(generator)),
        tolerance=lambda probe: EXACT,
        refused=tuple(_refused()),
        empty=tuple(_empty()),
        special=tuple(_special()),
        stress=tuple(_stress(generator)),
        huge=tuple(_huge()),
        result_dtypes=lambda probe: (torch.int64,),
    )


def label(mask: Tensor, connectivity: int = 1) -> Tensor:
    """The truth: SciPy's components, renumbered by their first voxel.

    Raises:
        ValueError: rank, connectivity, or NaN.
    """
    from scipy import ndimage

    if mask.dim() not in (2, 3):
        raise ValueError(f"mask must have 2 or 3 axes, got {mask.dim()}")
    if not 1 <= connectivity <= mask.dim():
        raise ValueError(f"connectivity must be 1 to {mask.dim()}, got {connectivity}")
    if mask.is_floating_point() and bool(mask.isnan().any()):
        raise ValueError("mask holds NaN")
    filled = (mask != 0).numpy()
    if not filled.size:
        return torch.zeros(mask.shape, dtype=torch.int64)
    structure = ndimage.generate_binary_structure(mask.dim(), connectivity)
    labels, count = ndimage.label(filled, structure)
    first = np.zeros(count + 1, dtype=np.int64)
    first[labels.ravel()[::-1]] = np.arange(labels.size)[::-1]  # the last written is the first
    numbers = np.zeros(count + 1, dtype=np.int64)
    numbers[1 + np.argsort(first[1:])] = np.arange(1, count + 1)
    return torch.from_numpy(numbers[labels])


def _probes(generator: torch.Generator) -> Iterator[Probe]:
    """Every pattern and connectivity at small sizes; a rotation of dtypes; block sizes +-1."""
    count = 0
    shape: tuple[int, ...]
    for shape in SMALL_SHAPES + BLOCK_SHAPES:
        is_small = shape in SMALL_SHAPES
        for name, mask in patterns(shape, generator):
            for connectivity in range(1, len(shape) + 1):
                dtype = DTYPES[count % len(DTYPES)] if is_small else torch.bool
                count += 1
                yield _probe(as_dtype(mask, dtype), connectivity, name)
    for shape in ((6, 7), (4, 5, 6)):
        for dtype in DTYPES:
            noise = torch.rand(shape, generator=generator) < 0.6
            for connectivity in range(1, len(shape) + 1):
                yield _probe(as_dtype(noise, dtype), connectivity, "60 % noise")
    for shape in remainder_shapes():
        count += 1
        noise = torch.rand(shape, generator=generator) < 0.6
        yield _probe(noise, 1 + count % len(shape), "60 % noise")
    mask = torch.tensor([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]])
    yield Probe((mask,), {}, {"connectivity": "left out"})
    for _ in range(40):
        shape = tuple(torch.randint(1, 12, (2 + count % 2,), generator=generator).tolist())
        count += 1
        share = float(torch.rand((), generator=generator))
        mask = torch.rand(shape, generator=generator) < share
        connectivity = 1 + count % len(shape)
        yield _probe(as_dtype(mask, DTYPES[count % len(DTYPES)]), connectivity, "random")


def _probe(mask: Tensor, connectivity: int, pattern: str) -> Probe:
    return Probe(
        (mask, connectivity),
        {},
        {
            "dtype": dtype_name(mask.dtype),
            "axes": str(mask.dim()),
            "connectivity": str(connectivity),
            "pattern": pattern,
        },
    )


def _refused() -> Iterator[Probe]:
    square = torch.ones((3, 3), dtype=torch.bool)
    for connectivity in (0, -1, 3, 2**32 + 1):  # the last is 1 to whoever keeps 32 bits
        yield Probe((square, connectivity), {}, {"connectivity": str(connectivity)})
    yield Probe((torch.ones((3, 3, 3), dtype=torch.bool), 4), {}, {"connectivity": "4"})
    shape: tuple[int, ...]
    for shape in ((), (5,), (2, 2, 2, 2)):
        yield Probe((torch.ones(shape, dtype=torch.bool), 1), {}, {"axes": str(len(shape))})


def _empty() -> Iterator[Probe]:
    for shape in ((0, 4), (4, 0), (0, 0), (0, 3, 3), (3, 0, 3), (3, 3, 0)):
        for dtype in (torch.bool, torch.float32):
            yield _probe(torch.zeros(shape, dtype=dtype), 1, "empty")


def _special() -> Iterator[Probe]:
    """NaN is refused; infinities and the smallest numbers are foreground; -0.0 is not."""
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
                mask = torch.zeros(12, dtype=dtype)
                mask[place] = value
                yield _probe(mask.view(3, 4), 1, "one value").noting(value=name)
        mask = torch.zeros((3, 4), dtype=dtype)
        mask[1, 2] = odd_nan(dtype)
        yield _probe(mask, 1, "one value").noting(value="NaN of other bits")
        mask = torch.zeros((3, 4), dtype=dtype)
        mask[0, 0], mask[2, 3] = float("inf"), -float("inf")
        yield _probe(mask, 1, "two values").noting(value="+inf and -inf")


def _stress(generator: torch.Generator) -> Iterator[Probe]:
    """More components than 16 bits hold, one long path, many mergers, sizes of a real job."""
    checkerboard = index_sum((520, 530)) % 2 == 0
    yield _probe(checkerboard, 1, "137,800 components")
    yield _probe(index_sum((52, 53, 54)) % 2 == 0, 1, "74,412 components")
    yield _probe(checkerboard, 2, "one component of a checkerboard")
    for size in (401, 255):
        yield _probe(spiral(size), 1, "spiral")
    for axes in ((), (0,), (1,), (0, 1)):
        for num_below in (3, 70):
            mask = stairs(70, num_below).flip(axes).contiguous()
            yield _probe(mask, 1 + len(axes) % 2, "stairs")
    for shape in ((401, 399), (21, 61, 63)):
        yield _probe(serpentine(shape), 1, "serpentine")
    uneven = torch.rand((32, 30_011), generator=generator) < 0.55
    uneven[:17] = False  # who has the first half is done when the others begin
    yield _probe(uneven, 2, "noise in the last half alone")
    yield _probe(torch.ones((900, 1100), dtype=torch.bool), 1, "all ones")
    yield _probe(torch.ones((96, 96, 96), dtype=torch.bool), 3, "all ones")
    yield _probe(torch.rand((1, 70_001), generator=generator) < 0.5, 1, "one long row")
    yield _probe(torch.rand((70_001, 1), generator=generator) < 0.5, 2, "one long column")
    yield _probe(torch.rand((70_001, 1, 1), generator=generator) < 0.5, 3, "many slices")
    yield _probe(torch.rand((1, 70_001, 1), generator=generator) < 0.5, 2, "one long column")
    for shape in ((512, 512), (100, 1024), (20, 128, 128)):
        yield _probe(torch.rand(shape, generator=generator) < 0.5, 1, "noise, a power of two wide")
    for connectivity in (1, 2):
        yield _probe(torch.rand((700, 803), generator=generator) < 0.59, connectivity, "noise")
        yield _probe(blobs((513, 511), generator), connectivity, "blobs")
    for connectivity in (1, 2, 3):
        yield _probe(torch.rand((65, 90, 79), generator=generator) < 0.3, connectivity, "noise")
        yield _probe(blobs((64, 65, 66), generator), connectivity, "blobs")


def _huge() -> Iterator[Probe]:
    """More components, and voxels, than float32 tells apart."""
    mask = torch.zeros((5796, 5796), dtype=torch.bool)
    mask[::2, ::2] = True
    mask[1::2, 1::2] = True
    yield _probe(mask, 1, "16,796,808 components")
