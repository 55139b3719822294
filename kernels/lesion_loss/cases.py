"""Named inputs, seeded: tests, validator and benchmark share them."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from kernels.lesion_loss.reference import voronoi_regions
from kernels.operator import OperatorCase

Inputs = tuple[tuple[Any, ...], dict[str, Any]]

BLOCK = 16384
"""kBlock of csrc/blocks.h."""
CHUNK = 256
"""kChunk of csrc/chunk.h."""


def make_inputs(
    shape: tuple[int, ...], radii: tuple[tuple[int, ...], ...], *, seed: int, scale: float = 3.0
) -> tuple[Tensor, Tensor]:
    """Make float32 logits and an int32 target with cubes of lesions at random places.

    Args:
        shape: (N, 1, *spatial).
        radii: for each sample, the radius in voxels of each lesion; a later lesion overwrites an
            earlier one, which may vanish. The lesions of a sample are numbered in this order.
        seed: of places and logits.
        scale: standard deviation of the logits; their mean is this below 0 outside of lesions and
            above 0 within.
    """
    generator = torch.Generator().manual_seed(seed)
    target = torch.zeros(shape, dtype=torch.int32)
    for sample, sample_radii in enumerate(radii):
        for number, radius in enumerate(sample_radii, start=1):
            centre = [int(torch.randint(size, (), generator=generator)) for size in shape[2:]]
            cube = tuple(slice(max(c - radius, 0), c + radius + 1) for c in centre)
            target[sample, 0][cube] = number
    logits = torch.randn(shape, generator=generator).add_(target.sign() * 2 - 1).mul_(scale)
    return logits, target


def _case(
    name: str, make: Callable[[], tuple[Tensor, Tensor]], **options: Callable[[Tensor], Any] | Any
) -> OperatorCase:
    """An option that is a function is called with the target."""

    def inputs() -> Inputs:
        logits, target = make()
        chosen = {
            key: value(target) if callable(value) else value for key, value in options.items()
        }
        return (logits, target), chosen

    return OperatorCase(name, inputs)


def _regional(
    name: str, make: Callable[[], tuple[Tensor, Tensor]], **options: Callable[[Tensor], Any] | Any
) -> OperatorCase:
    return _case(name, make, kind="cc_dice_ce", **options)


def _regions(target: Tensor) -> Tensor:
    return voronoi_regions(target).short()


def _noise_regions(target: Tensor) -> Tensor:
    """Regions that no lesion asks for: some without lesion voxels, and voxels in none."""
    generator = torch.Generator().manual_seed(41)
    return torch.randint(0, 60, target.shape, generator=generator)


def _strips(target: Tensor) -> Tensor:
    """Every third voxel and the last rows are ignored, lesions or not."""
    ignore = (torch.arange(target.numel()) % 3 == 0).view(target.shape)
    ignore[..., -1, :] = True
    return ignore


def _first_lesion(target: Tensor) -> Tensor:
    return target == 1


def _everything(target: Tensor) -> Tensor:
    return torch.ones_like(target, dtype=torch.bool)


def _weights(target: Tensor) -> Tensor:
    return torch.tensor([0.5, 0.0, 3.0, 1.25])[: target.shape[0]]


def _mask() -> tuple[Tensor, Tensor]:
    logits, target = _mixed()
    return logits, target != 0


def _extreme() -> tuple[Tensor, Tensor]:
    logits, target = make_inputs((2, 1, 8, 12), ((1, 2), ()), seed=7)
    return torch.where(logits > 0, 80.0, -80.0), target


def _gaps() -> tuple[Tensor, Tensor]:
    logits, target = make_inputs((1, 1, 9, 10, 11), ((2, 1, 0),), seed=8)
    return logits, torch.tensor([0, 300, 7, 16383], dtype=torch.int32)[target.long()]


def _transposed() -> tuple[Tensor, Tensor]:
    logits, target = make_inputs((2, 1, 6, 7, 8), ((1, 0), (2,)), seed=9)
    return logits.transpose(2, 4), target.transpose(2, 4)


def _halves(dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    logits, target = make_inputs((2, 1, 9, 20, 21), ((3, 1), ()), seed=13)
    return logits.to(dtype), target


def _line(length: int) -> Callable[[], tuple[Tensor, Tensor]]:
    return lambda: make_inputs((1, 1, 1, length), ((20, 3, 0),), seed=length)


def _mixed() -> tuple[Tensor, Tensor]:
    return make_inputs((3, 1, 9, 8, 7), ((2, 1), (), (0, 0, 1)), seed=6)


def _many() -> tuple[Tensor, Tensor]:
    return make_inputs((2, 1, 24, 25, 26), ((4,) + (1,) * 20, (0,) * 9), seed=14)


CASES = (
    _case("no_lesion", lambda: make_inputs((1, 1, 7, 9, 10), ((),), seed=1)),
    _case("one_lesion", lambda: make_inputs((1, 1, 7, 9, 10), ((2,),), seed=2)),
    _case("one_voxel", lambda: make_inputs((1, 1, 1, 1), ((0,),), seed=3)),
    _case("one_background_voxel", lambda: make_inputs((1, 1, 1, 1, 1), ((),), seed=3)),
    _case("many_small_2d", lambda: make_inputs((1, 1, 33, 31), ((0,) * 40,), seed=4)),
    _case("large_and_small", lambda: make_inputs((1, 1, 20, 21, 22), ((7,) + (1,) * 9,), seed=5)),
    _case("mixed_batch", _mixed),
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
    _case("float16", lambda: _halves(torch.float16)),
    _case("bfloat16", lambda: _halves(torch.bfloat16)),
    _case("ignore", _mixed, ignore=_strips),
    _case("ignored_lesion", _mixed, ignore=_first_lesion),
    _case("ignore_everything", _mixed, ignore=_everything),
    _case("weights", _mixed, sample_weights=_weights),
    _regional("cc_no_lesion", lambda: make_inputs((1, 1, 7, 9, 10), ((),), seed=1)),
    _regional("cc_one_voxel", lambda: make_inputs((1, 1, 1, 1), ((0,),), seed=3)),
    _regional("cc_all_lesion", lambda: make_inputs((1, 1, 5, 6), ((9,),), seed=6)),
    _regional("cc_extreme_logits", _extreme),
    _regional("cc_mixed_batch", _mixed),
    _regional("cc_gaps_in_labels", _gaps),
    _regional("cc_spacing", _mixed, spacing=(2.5, 1.0, 0.75)),
    _regional("cc_spacing_2d", _extreme, spacing=(0.5, 2.0)),
    _regional("cc_transposed", _transposed, regions=_regions),
    _regional("cc_regions", _many, regions=_regions),
    _regional("cc_mask_and_regions", _mask, regions=lambda _: _regions(_mixed()[1])),
    _regional("cc_noise_regions", _many, regions=_noise_regions),
    _regional("cc_empty_batch", lambda: make_inputs((0, 1, 4, 5), (), seed=10)),
    _regional("cc_empty_volume", lambda: make_inputs((2, 1, 4, 0, 5), (), seed=10)),
    *(_regional(f"cc_chunk_{n}", _line(n), regions=_regions) for n in (CHUNK, CHUNK + 1)),
    _regional(f"cc_block_{BLOCK + 1}", _line(BLOCK + 1), regions=_noise_regions),
    _regional("cc_float16", lambda: _halves(torch.float16), regions=_regions),
    _regional("cc_bfloat16", lambda: _halves(torch.bfloat16), regions=_regions),
    _regional("cc_ignore", _mixed, ignore=_strips),
    _regional("cc_ignored_lesion", _mixed, ignore=_first_lesion),
    _regional("cc_ignore_everything", _mixed, ignore=_everything),
    _regional("cc_weights", _mixed, sample_weights=_weights),
    _regional("cc_everything", _many, ignore=_strips, sample_weights=_weights, spacing=(1, 2, 0.5)),
)
