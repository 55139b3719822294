"""Named masks, from the smallest to a lesion-like crop, all seeded."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from kernels.operator import OperatorCase

Call = tuple[tuple[Any, ...], dict[str, Any]]


def lesion_mask(shape: Sequence[int], num_lesions: int, seed: int) -> Tensor:
    """bool (D, H, W): ellipsoids of radius 1.5 to 6.5 voxels at random places; they may touch."""
    generator = torch.Generator().manual_seed(seed)
    mask = torch.zeros(tuple(shape), dtype=torch.bool)
    for _ in range(num_lesions):
        centre = [float(torch.rand((), generator=generator)) * size for size in shape]
        radius = [1.5 + 5 * float(torch.rand((), generator=generator)) for _ in shape]
        window = [
            slice(max(0, int(c - r)), min(size, int(c + r) + 2))
            for c, r, size in zip(centre, radius, shape, strict=True)
        ]
        axes = [torch.arange(part.start, part.stop, dtype=torch.float32) for part in window]
        grids = torch.meshgrid(*axes, indexing="ij")
        scaled = [((g - c) / r) ** 2 for g, c, r in zip(grids, centre, radius, strict=True)]
        mask[tuple(window)] |= torch.stack(scaled).sum(0) < 1
    return mask


def noise(shape: Sequence[int], probability: float, seed: int = 0) -> Tensor:
    """bool, every voxel foreground with the given probability."""
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(tuple(shape), generator=generator) < probability


def checkerboard(shape: Sequence[int]) -> Tensor:
    """bool, the first voxel foreground: one component at full connectivity, lone voxels at 1."""
    axes = torch.meshgrid(*(torch.arange(size) for size in shape), indexing="ij")
    return torch.stack(axes).sum(0) % 2 == 0


def snake(height: int, width: int) -> Tensor:
    """bool (H, W): one path of one voxel's width through the whole image."""
    mask = torch.zeros((height, width), dtype=torch.bool)
    mask[::2] = True
    mask[1::4, -1] = True
    mask[3::4, 0] = True
    return mask


def _case(name: str, make: Callable[[], Tensor], *args: Any, **kwargs: Any) -> OperatorCase:
    def call() -> Call:
        return (make(), *args), dict(kwargs)

    return OperatorCase(name=name, make=call)


def _strided() -> Tensor:
    return noise((9, 14, 12), 0.4).permute(2, 0, 1)[::2, 1:, ::3]


def _expanded() -> Tensor:
    return noise((3, 1, 5, 1), 0.6).expand(3, 2, 5, 7)


CASES = (
    _case("empty", partial(torch.zeros, (0, 4, 5), dtype=torch.bool)),
    _case("one_voxel", partial(torch.ones, (1, 1, 1), dtype=torch.bool)),
    _case("background_only", partial(torch.zeros, (4, 5, 6), dtype=torch.bool)),
    _case("foreground_only", partial(torch.ones, (4, 5, 6), dtype=torch.bool)),
    _case("line_1d", partial(noise, (129,), 0.5)),
    _case("image_one_row", partial(noise, (1, 65), 0.5)),
    _case("image_connectivity_1", partial(noise, (31, 33), 0.6), 1),
    _case("image_connectivity_2", partial(noise, (31, 33), 0.4), 2),
    _case("width_7", partial(noise, (5, 6, 7), 0.3)),
    _case("width_8", partial(noise, (5, 6, 8), 0.3)),
    _case("width_9", partial(noise, (5, 6, 9), 0.3)),
    _case("checkerboard_connectivity_1", partial(checkerboard, (7, 8, 9)), 1),
    _case("checkerboard_connectivity_3", partial(checkerboard, (7, 8, 9)), 3),
    _case("snake", partial(snake, 41, 40), 1),
    _case("noise_connectivity_1", partial(noise, (12, 13, 14), 0.35), 1),
    _case("noise_connectivity_2", partial(noise, (12, 13, 14), 0.2), 2),
    _case("noise_connectivity_3", partial(noise, (12, 13, 14), 0.15), 3),
    _case("strided", _strided),
    _case("expanded_batch", _expanded, spatial_dims=2),
    _case("batch_of_volumes", partial(noise, (2, 3, 6, 7, 8), 0.2), spatial_dims=3),
    _case("batch_of_images", partial(noise, (4, 1, 17, 15), 0.4), 1, spatial_dims=2),
    _case("bytes", lambda: noise((6, 7, 8), 0.3).to(torch.uint8) * 255),
    _case("fractions", lambda: noise((6, 7, 8), 0.3).to(torch.float32) * 0.25),
    _case("int32", lambda: noise((6, 7, 5), 0.3).to(torch.int32) * 65536),
    _case("float64", lambda: noise((6, 7, 5), 0.3).to(torch.float64) * -1e-300),
    _case("negative_integers", lambda: -noise((6, 7, 8), 0.3).to(torch.int64)),
    _case("lesions_crop", partial(lesion_mask, (64, 96, 96), 15, 0), spatial_dims=3),
)
