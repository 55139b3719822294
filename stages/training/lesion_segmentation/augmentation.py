"""Random variation of a sample, a function of the seed alone."""

from functools import lru_cache
from typing import Any

from torch import Tensor

from stages.contract import Sample

GEOMETRIC_KEYS = ("image", "label", "instances", "inside")
FLIP_PROBABILITY = 0.5
CONTRAST_PROBABILITY = 0.5
GAMMA_RANGE = (0.7, 1.5)
NOISE_PROBABILITY = 0.5
LARGEST_NOISE = 0.1
"""Standard deviation of the noise, in units of the channel's own."""
SMALLEST_SCALE = 1e-6


def augment(sample: Sample, seed: int) -> Sample:
    """Flip each axis, bend the contrast and add noise, at random; image, label and instances
    together.

    A global scale or shift of the intensity is left out: the network's own normalisation undoes it.
    Zeros, the padding, stay zero, because that normalisation reads them as outside.
    """
    image = sample["image"]
    spatial_axes = tuple(range(1, image.ndim))
    scale = image.std(spatial_axes, keepdim=True).clamp(min=SMALLEST_SCALE)
    transforms = _transforms(len(spatial_axes))
    transforms.set_random_state(seed)
    varied = transforms({**sample, "image": image / scale, "inside": image != 0})
    plain = {name: _plain(varied[name]) for name in GEOMETRIC_KEYS}
    inside = plain.pop("inside")
    return {**plain, "image": plain["image"] * inside * scale}


@lru_cache(maxsize=2)
def _transforms(num_spatial_dims: int) -> Any:
    from monai.transforms.compose import Compose
    from monai.transforms.intensity.dictionary import RandAdjustContrastd, RandGaussianNoised
    from monai.transforms.spatial.dictionary import RandFlipd

    flips = [
        RandFlipd(GEOMETRIC_KEYS, prob=FLIP_PROBABILITY, spatial_axis=axis)
        for axis in range(num_spatial_dims)
    ]
    return Compose(
        [
            *flips,
            RandAdjustContrastd("image", prob=CONTRAST_PROBABILITY, gamma=GAMMA_RANGE),
            RandGaussianNoised("image", prob=NOISE_PROBABILITY, std=LARGEST_NOISE, sample_std=True),
        ]
    )


def _plain(values: Any) -> Tensor:
    """A tensor without MONAI's metadata."""
    tensor: Tensor = values.as_tensor() if hasattr(values, "as_tensor") else values
    return tensor
