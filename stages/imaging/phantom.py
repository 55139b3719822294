"""A deterministic 3-D lesion phantom: one patient, at any number of voxels, with the same anatomy.

Everything is placed in millimetres from the centre of the field of view; only the noise is drawn
voxel by voxel. The image stands for a skull-stripped FLAIR: 0 outside the brain, whole numbers of
at least 1 inside, white matter around 1000, lesions brighter.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stages.imaging.phantom_anatomy import Anatomy, draw_brain, make_anatomy
from stages.imaging.phantom_lesions import Lesion, add_lesion, make_lesions
from stages.imaging.phantom_recipe import PhantomRecipe

Volume = NDArray[np.float32]


@dataclass(frozen=True)
class Patient:
    """What one patient is made of, in millimetres and independent of any grid."""

    anatomy: Anatomy
    lesions: tuple[Lesion, ...]
    gain: float
    """Intensity of the white matter: scanners have no common scale."""
    bias: tuple[float, ...]
    """Coefficients of the bias field, see `_bias_field`."""


def make_phantom(
    recipe: PhantomRecipe, patient_index: int, shape: Sequence[int] | None = None
) -> tuple[Volume, NDArray[np.uint8]]:
    """Image (1, *shape) and label (*shape) in {0, 1}; `shape` is the recipe's by default.

    A function of the recipe's seed, the index and the shape alone. Between shapes the anatomy and
    the lesions stay where they are, the noise does not.

    Raises:
        ValueError: the index is negative or the shape has not three axes.
    """
    shape = tuple(recipe.shape if shape is None else shape)
    if patient_index < 0 or len(shape) != 3:
        raise ValueError(
            f"expected an index of at least 0 and three axes, got {patient_index} and {shape}"
        )
    patient = make_patient(recipe, patient_index)
    axes = _voxel_centres(recipe.field_of_view_mm, shape)
    brain, mask = draw_brain(patient.anatomy, axes)
    label = np.zeros(shape, np.uint8)
    for lesion in patient.lesions:
        add_lesion(lesion, axes, brain, label)
    label[~mask] = 0
    brain *= _bias_field(patient.bias, recipe, axes)
    noise = np.random.default_rng([recipe.seed, patient_index, *shape])
    brain += np.float32(recipe.noise) * noise.standard_normal(shape, np.float32)
    brain *= np.float32(patient.gain)
    np.rint(brain, out=brain)
    np.maximum(brain, 1, out=brain)
    brain *= mask
    return brain[None], label


def make_patient(recipe: PhantomRecipe, patient_index: int) -> Patient:
    """Draw what one patient is made of."""
    rng = np.random.default_rng([recipe.seed, patient_index])
    anatomy = make_anatomy(rng, recipe.field_of_view_mm)
    return Patient(
        anatomy=anatomy,
        lesions=make_lesions(rng, recipe, anatomy),
        gain=float(rng.uniform(800, 1200)),
        bias=tuple(rng.uniform(-1, 1, 6).tolist()),
    )


def _voxel_centres(extent_mm: Sequence[float], shape: Sequence[int]) -> tuple[Volume, ...]:
    """Coordinates in mm along each axis, 0 in the middle, shaped to broadcast to the volume."""
    return tuple(
        (((np.arange(n) + 0.5) / n - 0.5) * extent)
        .astype(np.float32)
        .reshape([-1 if axis == other else 1 for other in range(3)])
        for axis, (n, extent) in enumerate(zip(shape, extent_mm, strict=True))
    )


def _bias_field(bias: Sequence[float], recipe: PhantomRecipe, axes: Sequence[Volume]) -> Volume:
    """Smooth factor around 1, a product of one parabola an axis, within the recipe's strength."""
    x, y, z = (a / np.float32(e) * 2 for a, e in zip(axes, recipe.field_of_view_mm, strict=True))
    strength = recipe.bias_field / 3
    factors = [
        1
        + np.float32(strength) * (np.float32(bias[i]) * a + np.float32(bias[i + 3]) * (a * a - 0.5))
        for i, a in enumerate((x, y, z))
    ]
    field: Volume = (factors[0] * factors[1] * factors[2]).astype(np.float32, copy=False)
    return field
