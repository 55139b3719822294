"""An input example that holds no patient: packages travel farther than the data may."""

import numpy as np
from numpy.typing import NDArray


def synthesise_like(image: NDArray[np.float32]) -> NDArray[np.float32]:
    """Seeded noise of an image's shape (C, *spatial), with each channel's mean and deviation.

    A border of zeros surrounds it, as air surrounds a head.
    """
    axes = tuple(range(1, image.ndim))
    mean, deviation = image.mean(axes, keepdims=True), image.std(axes, keepdims=True)
    noise = np.random.default_rng(0).standard_normal(image.shape, dtype=np.float32)
    values = np.clip(mean + deviation * noise, 0, None)
    inside = np.zeros(image.shape[1:], bool)
    inside[tuple(slice(n // 8, n - n // 8) for n in image.shape[1:])] = True
    example: NDArray[np.float32] = np.where(inside, values, 0).astype(np.float32)
    return example
