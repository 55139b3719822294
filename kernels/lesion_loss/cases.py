"""Named inputs, seeded: tests, validator and benchmark share them."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from kernels.operator import OperatorCase

Inputs = tuple[tuple[Any, ...], dict[str, Any]]

BLOCK = 16384
"""kBlock of csrc/lesion_loss.cpp."""
CHUNK = 256
"""kChunk of csrc/chunk.h."""


def make_inputs(
    shape: tuple[int, ...], radii: tuple[tuple[int, ...], ...], *, seed: int, scale: float = 3.0
) -> tuple[Tensor, Tensor]:
    """Make float32 logits and int32 labels with cubes of lesions at random places.

    Args:
        shape: (N, 1, *spatial).
        radii: for each sample, the radius in voxels of each lesion; a later lesion overwrites an
            earlier one, which may vanish. The lesions of a sample are numbered in this order.
        seed: of places and logits.
        scale: standard deviation of the logits; their mean is this below 0 outside of lesions and
            above 0 within.
    """
    generator = torch.Generator().manual_seed(seed)
    labels = torch.zeros(shape, dtype=torch.int32)
    for sample, sample_radii in enumerate(radii):
        for number, radius in enumerate(sample_radii, start=1):
            centre = [int(torch.randint(size, (), generator=generator)) for size in shape[2:]]
            cube = tuple(slice(max(c - radius, 0), c + radius + 1) for c in centre)
            labels[sample, 0][cube] = number
    logits = torch.randn(shape, generator=generator).add_(labels.sign() * 2 - 1).mul_(scale)
    return logits, labels


def _case(name: str, make: Callable[[], tuple[Tensor, Tensor]]) -> OperatorCase:
    def inputs() -> Inputs:
        return make(), {}

    return OperatorCase(name, inputs)


def _extreme() -> tuple[Tensor, Tensor]:
    logits, labels = make_inputs((2, 1, 8, 12), ((1, 2), ()), seed=7)
    return torch.where(logits > 0, 80.0, -80.0), labels


def _gaps() -> tuple[Tensor, Tensor]:
    logits, labels = make_inputs((1, 1, 9, 10, 11), ((2, 1, 0),), seed=8)
    return logits, torch.tensor([0, 300, 7, 16383], dtype=torch.int32)[labels.long()]


def _transposed() -> tuple[Tensor, Tensor]:
    logits, labels = make_inputs((2, 1, 6, 7, 8), ((1, 0), (2,)), seed=9)
    return logits.transpose(2, 4), labels.transpose(2, 4)


def _line(length: int) -> Callable[[], tuple[Tensor, Tensor]]:
    return lambda: make_inputs((1, 1, 1, length), ((20, 3, 0),), seed=length)


CASES = (
    _case("no_lesion", lambda: make_inputs((1, 1, 7, 9, 10), ((),), seed=1)),
    _case("one_lesion", lambda: make_inputs((1, 1, 7, 9, 10), ((2,),), seed=2)),
    _case("one_voxel", lambda: make_inputs((1, 1, 1, 1), ((0,),), seed=3)),
    _case("one_background_voxel", lambda: make_inputs((1, 1, 1, 1, 1), ((),), seed=3)),
    _case("many_small_2d", lambda: make_inputs((1, 1, 33, 31), ((0,) * 40,), seed=4)),
    _case("large_and_small", lambda: make_inputs((1, 1, 20, 21, 22), ((7,) + (1,) * 9,), seed=5)),
    _case("mixed_batch", lambda: make_inputs((3, 1, 9, 8, 7), ((2, 1), (), (0, 0, 1)), seed=6)),
    _case("all_lesion", lambda: make_inputs((1, 1, 5, 6), ((9,),), seed=6)),
    _case("extreme_logits", _extreme),
    _case("gaps_in_labels", _gaps),
    _case("transposed", _transposed),
    _case("empty_batch", lambda: make_inputs((0, 1, 4, 5), (), seed=10)),
    _case("empty_volume", lambda: make_inputs((2, 1, 4, 0, 5), (), seed=10)),
    *(_case(f"chunk_{n}", _line(n)) for n in (CHUNK - 1, CHUNK, CHUNK + 1)),
    *(_case(f"block_{n}", _line(n)) for n in (BLOCK - 1, BLOCK, BLOCK + 1)),
    _case("crop_5", lambda: make_inputs((2, 1, 48, 48, 48), ((4, 3, 2, 1, 1),) * 2, seed=11)),
    _case("crop_50", lambda: make_inputs((2, 1, 48, 48, 48), ((5,) + (1,) * 49,) * 2, seed=12)),
)
