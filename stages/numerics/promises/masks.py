"""Masks that have broken labellings and distance transforms before."""

from collections.abc import Iterator

import torch
from torch import Tensor

SMALL_SHAPES = (
    (1, 1),
    (1, 2),
    (2, 1),
    (2, 2),
    (1, 9),
    (9, 1),
    (3, 5),
    (7, 8),
    (15, 17),
    (16, 16),
    (33, 31),
    (1, 1, 1),
    (1, 1, 4),
    (4, 1, 1),
    (1, 4, 1),
    (2, 3, 5),
    (3, 4, 4),
    (5, 6, 7),
    (8, 8, 8),
    (9, 17, 15),
)
BLOCK_SHAPES = (
    (63, 65),
    (64, 64),
    (65, 63),
    (127, 129),
    (2, 255),
    (256, 3),
    (5, 1023),
    (1025, 4),
    (16, 33, 31),
    (31, 32, 33),
    (3, 64, 65),
    (65, 3, 64),
)


def remainder_shapes() -> Iterator[tuple[int, ...]]:
    """Every remainder of a division into blocks, in each of the last two axes."""
    for size in range(10, 72):
        yield (3, size)
        yield (size, 3)
        yield (2, 3, size)


def odd_nan(dtype: torch.dtype) -> Tensor:
    """A NaN whose sign and payload bits are all set."""
    whole = {2: torch.int16, 4: torch.int32, 8: torch.int64}[dtype.itemsize]
    return torch.tensor(-1, dtype=whole).view(dtype)


def patterns(shape: tuple[int, ...], generator: torch.Generator) -> Iterator[tuple[str, Tensor]]:
    """Named bool masks of a shape, deterministic for a seed."""
    yield "all zeros", torch.zeros(shape, dtype=torch.bool)
    yield "all ones", torch.ones(shape, dtype=torch.bool)
    size = 1
    for axis in shape:
        size *= axis
    if not size:
        return
    for name, place in (("first", 0), ("last", size - 1), ("middle", size // 2)):
        lone = torch.zeros(size, dtype=torch.bool)
        lone[place] = True
        yield f"lone {name} voxel", lone.view(shape)
        yield f"all but the {name} voxel", ~lone.view(shape)
    sums = index_sum(shape)
    yield "checkerboard", sums % 2 == 0
    yield "diagonal planes", sums % 4 == 0
    last = torch.arange(shape[-1]).expand(shape)
    yield "columns", last % 2 == 0
    row = torch.arange(shape[-2]).unsqueeze(-1).expand(shape)
    yield "rows", row % 2 == 1
    yield "comb", (row == shape[-2] - 1) | (last % 2 == 0)
    yield "upside-down comb", (row == 0) | (last % 2 == 1)
    yield "serpentine", serpentine(shape)
    for percent in (10, 50, 90):
        noise = torch.rand(shape, generator=generator) < percent / 100
        yield f"{percent} % noise", noise


def index_sum(shape: tuple[int, ...]) -> Tensor:
    """The sum of all indices, at each voxel."""
    total = torch.zeros(shape, dtype=torch.int64)
    for axis, size in enumerate(shape):
        view = [1] * len(shape)
        view[axis] = size
        total = total + torch.arange(size).view(view)
    return total


def serpentine(shape: tuple[int, ...]) -> Tensor:
    """One path through every other row, joined at alternating ends; in volumes slice after
    slice, also joined."""
    mask = torch.zeros(shape, dtype=torch.bool)
    planes = mask.view(-1, shape[-2], shape[-1])
    planes[::2, ::2] = True
    planes[::2, 1::4, -1] = True
    planes[::2, 3::4, 0] = True
    last_row = (shape[-2] - 1) // 2 * 2
    planes[1::4, last_row, 0 if last_row % 4 else -1] = True
    planes[3::4, 0, 0] = True
    return mask


def spiral(size: int) -> Tensor:
    """One path of width 1 that winds to the centre of a square image."""
    mask = torch.zeros((size, size), dtype=torch.bool)
    low, high = 0, size - 1
    while low <= high:
        mask[low, low : high + 1] = True
        mask[low : high + 1, high] = True
        mask[high, low : high + 1] = True
        if low + 2 <= high:
            mask[low + 2 : high + 1, low] = True
            mask[low + 2, low : low + 2] = True
        low, high = low + 2, high - 2
    return mask


def stairs(num_columns: int, num_below: int) -> Tensor:
    """Columns on a floor, each beginning higher than the one to its left, so that the floor makes
    one chain of mergers of them; some rows below, its beginning is joined to what began first."""
    floor = num_columns + 1
    mask = torch.zeros((floor + num_below, 2 * num_columns + 2), dtype=torch.bool)
    for column in range(num_columns):
        mask[num_columns - column : floor, 2 * column + 2] = True
    mask[floor, 2:] = True
    mask[floor:, 2] = True
    mask[:, 0] = True
    mask[-1, :3] = True
    return mask


def blobs(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """Smooth blobs over half of the image."""
    noise = torch.rand((1, 1, *shape), generator=generator)
    pool = torch.nn.functional.avg_pool2d if len(shape) == 2 else torch.nn.functional.avg_pool3d
    smooth = pool(noise, 5, stride=1, padding=2, count_include_pad=False)[0, 0]
    return smooth > 0.5


def as_dtype(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """The mask in another dtype, its foreground of every kind that a narrowing cast would lose."""
    if dtype == torch.bool:
        return mask
    values = torch.tensor(_foreground_values(dtype), dtype=dtype)
    filled = values[torch.arange(mask.numel()) % len(values)].view(mask.shape)
    return torch.where(mask, filled, torch.zeros((), dtype=dtype))


def _foreground_values(dtype: torch.dtype) -> list[float]:
    if dtype.is_floating_point:
        tiny = float(torch.finfo(dtype).smallest_normal)
        return [1.0, 0.25, -0.5, tiny, -3.0, 256.0, float(torch.finfo(dtype).max)]
    info = torch.iinfo(dtype)
    return [
        value
        for value in (1, 2, -1, 128, 256, 65536, info.max, info.min)
        if (info.min <= value <= info.max and value != 0)
    ]
