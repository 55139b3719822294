"""Named inputs: shapes, layouts, dtypes, and edge cases that other implementations got wrong."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from kernels.operator import OperatorCase

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def _noise(
    shape: Sequence[int],
    spacing: Sequence[float] | None = None,
    *,
    inside: float = 0.9,
    dtype: torch.dtype = torch.bool,
    spatial_dims: int | None = None,
) -> Arguments:
    """Independent voxels, nonzero with probability `inside`, then of varied size."""
    generator = torch.Generator().manual_seed(7)
    is_inside = torch.rand(tuple(shape), generator=generator) < inside
    values = torch.randint(1, 100, tuple(shape), generator=generator)
    mask = torch.where(is_inside, values, 0).to(dtype)
    return (mask, spacing), ({} if spatial_dims is None else {"spatial_dims": spatial_dims})


def _constant(shape: Sequence[int], value: int, **keywords: Any) -> Arguments:
    return (torch.full(tuple(shape), value, dtype=torch.uint8), None), keywords


def _ellipsoid(shape: Sequence[int], spacing: Sequence[float] | None = None) -> Arguments:
    """A head-like mask: one ellipsoid that fills half of the volume."""
    axes = [torch.linspace(-1, 1, size) for size in shape]
    squares = [axis**2 for axis in torch.meshgrid(*axes, indexing="ij")]
    return (torch.stack(squares).sum(0) < 0.9, spacing), {}


def _one_zero(shape: Sequence[int], spacing: Sequence[float] | None = None) -> Arguments:
    """Everything is far from the only zero: the longest searches."""
    mask = torch.ones(tuple(shape), dtype=torch.bool)
    mask[tuple(size // 3 for size in shape)] = False
    return (mask, spacing), {}


def _negative_zeros() -> Arguments:
    """-0.0 is a zero; NaN, infinities and the smallest denormal are not."""
    row = [-0.0, 0.0, float("nan"), float("inf"), -float("inf"), 5e-324, -5e-324, 1.0, -0.0]
    return (torch.tensor([row, row[::-1]], dtype=torch.float64), None), {}


def _with(make: Callable[..., Arguments], *args: Any, **options: Any) -> Arguments:
    """A case with options of the operator; `of` holds the keywords of the case itself."""
    positional, keywords = make(*args, **options.pop("of", {}))
    return positional, {**keywords, **options}


def _transposed() -> Arguments:
    (mask, spacing), keywords = _noise((13, 9, 20), (0.5, 2.0, 1.0))
    return (mask.permute(2, 0, 1), spacing), keywords


def _named(name: str, make: Callable[..., Arguments], *args: Any, **keywords: Any) -> OperatorCase:
    return OperatorCase(name, partial(make, *args, **keywords))


CASES = (
    _named("line", _noise, (50,)),
    _named("line_of_one", _constant, (1,), 1),
    _named("line_beyond_8192", _one_zero, (9001,), (0.3,)),
    _named("plane", _noise, (31, 45), (0.5, 1.7)),
    _named("plane_2x2", _noise, (2, 2), inside=0.5),
    _named("plane_1xN", _noise, (1, 300)),
    _named("plane_Nx1", _noise, (300, 1)),
    _named("plane_beyond_8192", _one_zero, (3, 9001)),
    _named("plane_beyond_8192_rows", _one_zero, (9001, 3)),
    _named("volume", _noise, (17, 16, 33)),
    _named("volume_anisotropic", _noise, (17, 15, 31), (2.5, 1.0, 0.8), inside=0.99),
    _named("volume_very_anisotropic", _noise, (9, 10, 11), (1e-3, 1.0, 1e3)),
    _named("volume_tiny_spacing", _noise, (9, 10, 11), (1e-25, 2e-25, 3e-25)),
    _named("volume_huge_spacing", _noise, (9, 10, 11), (1e25, 2e25, 3e25)),
    _named("volume_1x1x4", _noise, (1, 1, 4), inside=0.5),
    _named("volume_3x4x4", _noise, (3, 4, 4), inside=0.5),
    _named("volume_transposed", _transposed),
    _named("columns_15", _noise, (6, 5, 15)),
    _named("columns_65", _noise, (6, 5, 65)),
    _named("half_full", _noise, (20, 21, 22), inside=0.5),
    _named("sparse_inside", _noise, (20, 21, 22), inside=0.02),
    _named("one_zero", _one_zero, (40, 60, 50), (2.0, 1.0, 1.0)),
    _named("long_axes", _one_zero, (230, 3, 240), (1.0, 1.0, 1.1)),
    _named("ellipsoid", _ellipsoid, (32, 48, 40), (2.0, 1.0, 1.0)),
    _named("all_zero", _constant, (5, 6, 7), 0),
    _named("no_zero", _constant, (5, 6, 7), 1),
    _named("no_zero_of_2d", _constant, (2, 6, 7), 3, spatial_dims=2),
    _named("batch_of_planes", _noise, (3, 2, 19, 23), (1.5, 1.0), spatial_dims=2),
    _named("batch_of_volumes", _noise, (2, 1, 9, 10, 11), spatial_dims=3),
    _named("batch_of_lines", _noise, (4, 5, 29), spatial_dims=1),
    _named("empty_batch", _noise, (0, 5, 6), spatial_dims=2),
    _named("empty_axis", _noise, (5, 0, 6)),
    _named("empty_line", _noise, (0,)),
    _named("negative_zeros", _negative_zeros),
    _named("signed_line", _with, _noise, (70,), (0.7,), signed=True),
    _named("signed_plane", _with, _noise, (31, 45), (0.5, 1.7), of={"inside": 0.3}, signed=True),
    _named("signed_volume", _with, _noise, (17, 15, 31), (2.5, 1.0, 0.8), signed=True),
    _named("signed_ellipsoid", _with, _ellipsoid, (22, 38, 40), (2.0, 1.0, 1.0), signed=True),
    _named("signed_one_zero", _with, _one_zero, (20, 30, 50), (2.0, 1.0, 1.1), signed=True),
    _named("signed_all_zero", _with, _constant, (5, 6, 7), 0, signed=True),
    _named("signed_no_zero", _with, _constant, (5, 6, 7), 1, signed=True),
    _named("signed_batch", _with, _noise, (3, 2, 19, 23), of={"spatial_dims": 2}, signed=True),
    _named("nearest_line", _with, _noise, (70,), return_nearest=True),
    _named("nearest_plane", _with, _noise, (31, 45), (0.5, 2.0), return_nearest=True),
    _named("nearest_volume", _with, _noise, (17, 15, 31), (2.5, 1.0, 0.5), return_nearest=True),
    _named("nearest_no_zero", _with, _constant, (5, 6, 7), 1, return_nearest=True),
    _named(
        "nearest_batch", _with, _noise, (3, 2, 19, 23), of={"spatial_dims": 2}, return_nearest=True
    ),
    _named("nearest_empty", _with, _noise, (5, 0, 6), return_nearest=True),
    _named(
        "nearest_signed",
        _with,
        _ellipsoid,
        (22, 18, 20),
        (2, 1, 1),
        signed=True,
        return_nearest=True,
    ),
    *(
        _named(f"dtype_{name}", _noise, (6, 7, 18), dtype=getattr(torch, name))
        for name in ("uint8", "int8", "int16", "int32", "int64")
    ),
    *(
        _named(f"dtype_{name}", _noise, (6, 7, 18), dtype=getattr(torch, name))
        for name in ("float16", "bfloat16", "float32", "float64")
    ),
)
