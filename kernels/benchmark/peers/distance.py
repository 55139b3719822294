"""Libraries that compute Euclidean distances."""

import numpy as np
import torch

from kernels.benchmark.peers.volumes import over_volumes, touched, volumes_of
from kernels.benchmark.scene import REUSING, Call, Entrant, Inputs, NotApplicableError


def _edt(inputs: Inputs) -> Call:
    import edt

    if inputs.keywords.get("return_nearest"):
        raise NotApplicableError("gives no nearest voxel")
    transform = edt.sdf if inputs.keywords.get("signed") else edt.edt
    spacing = _spacing(inputs)

    def measure(volume: object) -> object:
        # The border is not background, which it would be by default for some versions.
        return transform(
            volume, anisotropy=spacing, black_border=False, parallel=torch.get_num_threads()
        )

    return over_volumes(inputs, measure)


def _scipy(inputs: Inputs) -> Call:
    from scipy.ndimage import distance_transform_edt

    spacing = _spacing(inputs)
    if inputs.keywords.get("return_nearest"):
        return over_volumes(
            inputs, lambda volume: distance_transform_edt(volume, spacing, return_indices=True)
        )
    if inputs.keywords.get("signed"):
        return over_volumes(
            inputs,
            lambda volume: (
                distance_transform_edt(volume, spacing) - distance_transform_edt(~volume, spacing)
            ),
        )
    return over_volumes(inputs, lambda volume: distance_transform_edt(volume, spacing))


def _opencv(inputs: Inputs, is_reusing: bool) -> Call:
    import cv2

    image = _unsigned_image(inputs).view(np.uint8)
    distances = [touched(image.shape, np.float32)] if is_reusing else []
    return lambda: cv2.distanceTransform(image, cv2.DIST_L2, cv2.DIST_MASK_PRECISE, *distances)


def _kornia(inputs: Inputs) -> Call:
    from kornia.contrib import distance_transform

    # It measures to the nearest one, not to the nearest zero.
    image = torch.from_numpy(~_unsigned_image(inputs))[None, None].float()
    return lambda: distance_transform(image)


def _monai(inputs: Inputs) -> Call:
    from monai.transforms.utils import distance_transform_edt

    if inputs.keywords.keys() & {"signed", "return_nearest", "spatial_dims"}:
        raise NotApplicableError("unsigned distances of one volume only")
    mask, spacing = inputs.args[0][None], _spacing(inputs)
    return lambda: distance_transform_edt(mask, sampling=spacing)


def _spacing(inputs: Inputs) -> tuple[float, ...]:
    dims = volumes_of(inputs)[0][0].ndim
    return tuple(inputs.keywords.get("spacing", (1.0,) * dims))


def _unsigned_image(inputs: Inputs) -> "np.ndarray[tuple[int, ...], np.dtype[np.bool_]]":
    volumes, is_batch = volumes_of(inputs)
    if is_batch or volumes[0].ndim != 2 or inputs.keywords:
        raise NotApplicableError("unsigned distances of images at spacing 1 only")
    return volumes[0]


DISTANCE_PEERS = (
    Entrant("edt", "library", _edt, "edt"),
    Entrant("OpenCV", "library", lambda i: _opencv(i, False), "opencv-python-headless"),
    Entrant(
        "OpenCV", "library", lambda i: _opencv(i, True), "opencv-python-headless", output=REUSING
    ),
    Entrant("SciPy", "library", _scipy, "scipy", uses_threads=False),
    Entrant("kornia", "library", _kornia, "kornia"),
    Entrant("MONAI", "library", _monai, "monai", uses_threads=False),
)
