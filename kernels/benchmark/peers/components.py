"""Libraries that label connected components."""

import numpy as np
import torch

from kernels.benchmark.peers.volumes import over_volumes, touched, volumes_of
from kernels.benchmark.scene import REUSING, Call, Entrant, Inputs, NotApplicableError

NEIGHBOURS = {(2, 1): 4, (2, 2): 8, (3, 1): 6, (3, 2): 18, (3, 3): 26}
"""By number of axes and connectivity."""


def num_neighbours(inputs: Inputs) -> int:
    """How many neighbours a voxel of the input has."""
    dims = volumes_of(inputs)[0][0].ndim
    return NEIGHBOURS[dims, inputs.keywords.get("connectivity", dims)]


def _cc3d(inputs: Inputs) -> Call:
    import cc3d

    neighbours = num_neighbours(inputs)
    return over_volumes(
        inputs, lambda volume: cc3d.connected_components(volume, connectivity=neighbours)
    )


def _opencv(inputs: Inputs, is_reusing: bool) -> Call:
    import cv2

    volumes, is_batch = volumes_of(inputs)
    if is_batch or volumes[0].ndim != 2:
        raise NotApplicableError("images only")
    image, neighbours = volumes[0].view(np.uint8), num_neighbours(inputs)
    labels = [touched(image.shape, np.int32)] if is_reusing else []
    return lambda: cv2.connectedComponentsWithAlgorithm(
        image, neighbours, cv2.CV_32S, cv2.CCL_DEFAULT, *labels
    )[1]


def _scipy(inputs: Inputs, is_reusing: bool) -> Call:
    from scipy import ndimage

    volumes, is_batch = volumes_of(inputs)
    dims = volumes[0].ndim
    structure = ndimage.generate_binary_structure(dims, inputs.keywords.get("connectivity", dims))
    if not is_reusing:
        return over_volumes(inputs, lambda volume: ndimage.label(volume, structure)[0])
    if is_batch:
        raise NotApplicableError("batches are timed without out=")
    labels = touched(volumes[0].shape, np.int32)

    def label() -> object:
        ndimage.label(volumes[0], structure, output=labels)
        return labels

    return label


def _kornia(inputs: Inputs, name: str) -> Call:
    import kornia.contrib

    volumes, is_batch = volumes_of(inputs)
    if is_batch or num_neighbours(inputs) != 8:
        raise NotApplicableError("images with 8 neighbours only")
    label = getattr(kornia.contrib, name)
    image = torch.from_numpy(volumes[0])[None, None]
    image = image.float() if name == "connected_components" else image
    return lambda: label(image)[0, 0]


def _monai(inputs: Inputs) -> Call:
    import monai  # noqa: F401 - absent or not

    raise NotApplicableError("labels nothing itself: its transforms call scikit-image or cuCIM")


COMPONENT_PEERS = (
    Entrant("cc3d", "library", _cc3d, "connected-components-3d", uses_threads=False),
    Entrant("OpenCV", "library", lambda i: _opencv(i, False), "opencv-python-headless"),
    Entrant(
        "OpenCV", "library", lambda i: _opencv(i, True), "opencv-python-headless", output=REUSING
    ),
    Entrant("SciPy", "library", lambda i: _scipy(i, False), "scipy", uses_threads=False),
    Entrant(
        "SciPy", "library", lambda i: _scipy(i, True), "scipy", output=REUSING, uses_threads=False
    ),
    Entrant("kornia pooling", "library", lambda i: _kornia(i, "connected_components"), "kornia"),
    Entrant(
        "kornia union-find",
        "library",
        lambda i: _kornia(i, "connected_components_union_find"),
        "kornia",
    ),
    Entrant("MONAI", "library", _monai, "monai"),
)
