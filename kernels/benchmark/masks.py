"""Synthetic inputs: the same content in any size, seeded, 2-D and 3-D alike."""

from collections.abc import Sequence
from functools import lru_cache
from math import prod

import torch
from torch import Tensor
from torch.nn import functional

from kernels.connected_components.cases import lesion_mask, noise

CONTENTS = ("sparse", "smooth", "noise", "inverted")
VOXELS_PER_LESION = {2: 5_000, 3: 30_000}
"""By number of axes; about 1 % of the voxels are foreground then."""
COARSENESS = 2
"""Voxels between two points of the grid on which smooth content is made."""
BINOMIAL = (1 / 4, 2 / 4, 1 / 4)
LESION_LOGIT = 3.0


@lru_cache(maxsize=2)
def make_mask(content: str, shape: tuple[int, ...]) -> Tensor:
    """Make a bool mask.

    sparse: small ellipsoids over 1 % of the voxels; inverted: the same, inverted; noise: half of
    the voxels, independently; smooth: where a smooth random field is positive, half of the voxels
    again, in pieces about 4 voxels wide.
    """
    if content == "noise":
        return noise(shape, 0.5)
    if content == "smooth":
        return _smooth_field(shape) > 0
    lesions = lesion_mask(shape, max(1, prod(shape) // VOXELS_PER_LESION[len(shape)]), seed=0)
    return ~lesions if content == "inverted" else lesions


def _smooth_field(shape: Sequence[int]) -> Tensor:
    """White noise on a coarse grid, blurred there, and linear in between."""
    generator = torch.Generator().manual_seed(0)
    coarse = [size // COARSENESS + 2 for size in shape]
    field = torch.randn((1, 1, *coarse), generator=generator)
    taps = torch.tensor(BINOMIAL)
    convolve = functional.conv3d if len(shape) == 3 else functional.conv2d
    for axis in range(len(shape)):
        form = [1] * len(shape)
        form[axis] = len(taps)
        field = convolve(field, taps.reshape(1, 1, *form), padding="same")
    mode = "trilinear" if len(shape) == 3 else "bilinear"
    return functional.interpolate(field, size=tuple(shape), mode=mode)[0, 0]


@lru_cache(maxsize=2)
def make_lesions(shape: tuple[int, ...], num_lesions: int) -> tuple[Tensor, Tensor]:
    """Logits (N, 1, D, H, W), float32, of a network that is fairly right, and its target.

    The target is int32: in each sample lesions 1 to `num_lesions`, one ball each, in cells of a
    grid of their own, so that none is lost and none touches another.
    """
    generator = torch.Generator().manual_seed(num_lesions)
    target = torch.zeros(shape, dtype=torch.int32)
    for sample in target[:, 0]:
        _paint_balls(sample, num_lesions, generator)
    noise_of_logits = torch.randn(shape, generator=generator)
    return noise_of_logits + LESION_LOGIT * ((target > 0) * 2.0 - 1), target


def _paint_balls(volume: Tensor, count: int, generator: torch.Generator) -> None:
    num_cells = 1
    while num_cells**3 < count:
        num_cells += 1
    cells = torch.randperm(num_cells**3, generator=generator)[:count].tolist()
    sides = [size / num_cells for size in volume.shape]
    for label, cell in enumerate(cells, 1):
        place = (cell // num_cells**2, cell // num_cells % num_cells, cell % num_cells)
        radius = (0.05 + 0.15 * float(torch.rand((), generator=generator))) * min(sides)
        radius = max(radius, 1.0)
        window = tuple(
            slice(int((at + 0.5) * side - radius), int((at + 0.5) * side + radius) + 1)
            for at, side in zip(place, sides, strict=True)
        )
        part = volume[window]
        axes = [torch.arange(size) - (size - 1) / 2 for size in part.shape]
        grids = torch.meshgrid(*axes, indexing="ij")
        part[sum(grid**2 for grid in grids) <= radius**2] = label
