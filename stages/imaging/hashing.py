"""Hash what is in the voxels, whatever header, number type, byte order or compression."""

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def hash_voxels(image: NDArray[np.float32], label: NDArray[np.int64] | None = None) -> str:
    """sha256 of shape and values of an image (C, *spatial) and, if given, its label (*spatial)."""
    digest = hashlib.sha256()
    # Adding 0 makes -0.0 equal to 0.0, as it compares.
    _add(digest, image.astype("<f4", copy=False) + np.float32(0))
    if label is not None:
        _add(digest, label.astype("<i8", copy=False))
    return digest.hexdigest()


def hash_hashes(hashes: Iterable[str]) -> str:
    """sha256 over hashes, in order."""
    return hashlib.sha256("\n".join(hashes).encode()).hexdigest()


def _add(digest: Any, values: NDArray[Any]) -> None:
    digest.update(str(values.shape).encode())
    digest.update(np.ascontiguousarray(values).data)
