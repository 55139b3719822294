"""The phantom's lesions: irregular blobs, many small and a few large, each of its own contrast."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stages.imaging.phantom_anatomy import (
    Anatomy,
    bounding_box,
    crop_axes,
    is_near_ventricle,
    relative_depth,
)
from stages.imaging.phantom_recipe import PhantomRecipe

Volume = NDArray[np.float32]

_NUM_WAVES = 3
_IRREGULARITY = 0.16
"""Amplitude of each of the waves that dent the surface, as a fraction of the radius."""
_EDGE = 0.35
"""Width of the blurred rim, as a fraction of the radius."""
_REACH = 1 + _NUM_WAVES * _IRREGULARITY + _EDGE
_MOST_TRIES = 200


@dataclass(frozen=True)
class Lesion:
    """An ellipsoid with a dented surface."""

    centre_mm: tuple[float, ...]
    inverse_axes: NDArray[np.float32]
    """(3, 3): takes an offset in mm to one where the undented surface is the unit sphere."""
    reach_mm: float
    wave_vectors: NDArray[np.float32]
    """(waves, 3), on the unit sphere's scale."""
    wave_phases: NDArray[np.float32]
    contrast: float


def make_lesions(
    rng: np.random.Generator, recipe: PhantomRecipe, anatomy: Anatomy
) -> tuple[Lesion, ...]:
    """Draw a patient's lesions, large ones first."""
    large = rng.integers(recipe.large_lesions[0], recipe.large_lesions[1] + 1)
    small = rng.integers(recipe.small_lesions[0], recipe.small_lesions[1] + 1)
    radii = [recipe.large_radius_mm] * int(large) + [recipe.small_radius_mm] * int(small)
    return tuple(_make_lesion(rng, recipe, anatomy, low, high) for low, high in radii)


def add_lesion(
    lesion: Lesion, axes: Sequence[Volume], image: Volume, label: NDArray[np.uint8]
) -> None:
    """Brighten the image and set the label to 1, in place, within the lesion's bounding box."""
    box = bounding_box(axes, lesion.centre_mm, [lesion.reach_mm] * 3)
    offsets = [
        axis - np.float32(c) for axis, c in zip(crop_axes(axes, box), lesion.centre_mm, strict=True)
    ]
    u, v, w = (
        row[0] * offsets[0] + row[1] * offsets[1] + row[2] * offsets[2]
        for row in lesion.inverse_axes
    )
    surface = np.sqrt(u * u + v * v + w * w)
    for vector, phase in zip(lesion.wave_vectors, lesion.wave_phases, strict=True):
        surface += np.float32(_IRREGULARITY) * np.sin(
            vector[0] * u + vector[1] * v + vector[2] * w + phase
        )
    label[box] |= surface < 1
    rim = np.clip((np.float32(1 + _EDGE / 2) - surface) / np.float32(_EDGE), 0, 1)
    image[box] += np.float32(lesion.contrast) * rim


def _make_lesion(
    rng: np.random.Generator, recipe: PhantomRecipe, anatomy: Anatomy, lowest: float, highest: float
) -> Lesion:
    # Squared, so that the small ones are the many.
    radius = lowest + (highest - lowest) * rng.random() ** 2
    radii = radius * rng.uniform(0.75, 1.25, 3)
    rotation, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    return Lesion(
        centre_mm=tuple(_find_place(rng, anatomy, radius).tolist()),
        inverse_axes=(rotation / radii[:, None]).astype(np.float32),
        reach_mm=float(radii.max() * _REACH),
        wave_vectors=(rng.standard_normal((_NUM_WAVES, 3)) * 1.8).astype(np.float32),
        wave_phases=rng.uniform(0, 2 * np.pi, _NUM_WAVES).astype(np.float32),
        contrast=float(rng.uniform(*recipe.contrast)),
    )


def _find_place(
    rng: np.random.Generator, anatomy: Anatomy, radius_mm: float
) -> NDArray[np.float64]:
    """A point of the white matter, or just under the cortex, outside the ventricles."""
    deepest = 1 - (radius_mm + 4) / min(anatomy.radii_mm)
    for _ in range(_MOST_TRIES):
        point = anatomy.centre_mm + np.array(anatomy.radii_mm) * rng.uniform(-1, 1, 3)
        if 0.15 < relative_depth(anatomy, point) < deepest and not is_near_ventricle(
            anatomy, point, radius_mm * 0.5
        ):
            return point
    raise ValueError(f"found no place for a lesion of {radius_mm:.0f} mm: smaller radii are needed")
