"""The phantom's brain: an ellipsoid with folded cortex, white matter and two ventricles."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Volume = NDArray[np.float32]

# Intensities as fractions of the white matter's, as in FLAIR: cortex a little brighter, fluid dark.
WHITE_MATTER = 1.0
CORTEX = 1.18
FLUID = 0.3
_FOLD_DEPTH = 0.065
"""How far a fold moves a surface, as a fraction of the brain's radius."""


@dataclass(frozen=True)
class Wave:
    """A product of one sine an axis."""

    wavelengths_mm: tuple[float, float, float]
    phases: tuple[float, float, float]


@dataclass(frozen=True)
class Anatomy:
    """One brain, in millimetres from the centre of the field of view."""

    centre_mm: tuple[float, float, float]
    radii_mm: tuple[float, float, float]
    folds: tuple[Wave, Wave]
    texture: Wave
    ventricle_centres_mm: tuple[tuple[float, float, float], ...]
    ventricle_radii_mm: tuple[float, float, float]


def make_anatomy(rng: np.random.Generator, extent_mm: Sequence[float]) -> Anatomy:
    """Draw one brain that fits the field of view."""
    radii = np.array(extent_mm) * [0.385, 0.40, 0.37] * rng.uniform(0.94, 1.06, 3)
    centre = rng.uniform(-4, 4, 3)
    ventricles = radii * [0.11, 0.32, 0.15] * rng.uniform(0.7, 1.3, 3)
    offset = np.array([radii[0] * 0.17, 0, radii[2] * 0.05])
    return Anatomy(
        centre_mm=_triple(centre),
        radii_mm=_triple(radii),
        folds=(_make_wave(rng, 22, 34), _make_wave(rng, 30, 48)),
        texture=_make_wave(rng, 25, 60),
        ventricle_centres_mm=(_triple(centre + offset), _triple(centre - offset * [1, 1, -1])),
        ventricle_radii_mm=_triple(ventricles),
    )


def draw_brain(anatomy: Anatomy, axes: Sequence[Volume]) -> tuple[Volume, NDArray[np.bool_]]:
    """Intensities before bias and noise (white matter 1), and the mask of the brain."""
    depth = sum(
        ((axis - np.float32(c)) / np.float32(r)) ** 2
        for axis, c, r in zip(axes, anatomy.centre_mm, anatomy.radii_mm, strict=True)
    )
    depth = np.sqrt(depth, dtype=np.float32)
    folds = _draw_wave(anatomy.folds[0], axes)
    folds += _draw_wave(anatomy.folds[1], axes)
    folds *= np.float32(_FOLD_DEPTH)
    depth += folds
    mask = depth < np.float32(1)
    image = np.where(depth < np.float32(0.86), np.float32(WHITE_MATTER), np.float32(CORTEX))
    image[depth > np.float32(0.965)] = FLUID
    image += np.float32(0.05) * _draw_wave(anatomy.texture, axes)
    for centre in anatomy.ventricle_centres_mm:
        _fill_ellipsoid(image, axes, centre, anatomy.ventricle_radii_mm, FLUID)
    return image, mask


def relative_depth(anatomy: Anatomy, point_mm: NDArray[np.float64]) -> float:
    """0 at the brain's centre, 1 on its unfolded surface."""
    return float(np.linalg.norm((point_mm - anatomy.centre_mm) / anatomy.radii_mm))


def is_near_ventricle(anatomy: Anatomy, point_mm: NDArray[np.float64], margin_mm: float) -> bool:
    """Whether a point lies within the margin of a ventricle."""
    radii = np.array(anatomy.ventricle_radii_mm) + margin_mm
    return any(
        np.linalg.norm((point_mm - centre) / radii) < 1 for centre in anatomy.ventricle_centres_mm
    )


def bounding_box(
    axes: Sequence[Volume], centre_mm: Sequence[float], reach_mm: Sequence[float]
) -> tuple[slice, ...]:
    """The voxels within reach of a point, axis by axis."""
    return tuple(
        slice(*np.searchsorted(axis.ravel(), (c - r, c + r)).tolist())
        for axis, c, r in zip(axes, centre_mm, reach_mm, strict=True)
    )


def crop_axes(axes: Sequence[Volume], box: Sequence[slice]) -> tuple[Volume, ...]:
    """The coordinates inside a box, still shaped to broadcast."""
    return tuple(
        axis[tuple(part if i == j else slice(None) for j in range(3))]
        for i, (axis, part) in enumerate(zip(axes, box, strict=True))
    )


def _fill_ellipsoid(
    image: Volume,
    axes: Sequence[Volume],
    centre: Sequence[float],
    radii: Sequence[float],
    value: float,
) -> None:
    box = bounding_box(axes, centre, radii)
    distance = sum(
        ((axis - np.float32(c)) / np.float32(r)) ** 2
        for axis, c, r in zip(crop_axes(axes, box), centre, radii, strict=True)
    )
    image[box][np.asarray(distance) < 1] = value


def _make_wave(rng: np.random.Generator, shortest_mm: float, longest_mm: float) -> Wave:
    return Wave(
        wavelengths_mm=_triple(rng.uniform(shortest_mm, longest_mm, 3)),
        phases=_triple(rng.uniform(0, 2 * np.pi, 3)),
    )


def _draw_wave(wave: Wave, axes: Sequence[Volume]) -> Volume:
    x, y, z = (
        np.sin(axis * np.float32(2 * np.pi / length) + np.float32(phase), dtype=np.float32)
        for axis, length, phase in zip(axes, wave.wavelengths_mm, wave.phases, strict=True)
    )
    product: Volume = x * y * z
    return product


def _triple(values: NDArray[np.float64]) -> tuple[float, float, float]:
    x, y, z = values.tolist()
    return x, y, z
