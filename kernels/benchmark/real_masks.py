"""Lesions that were drawn by hand: the masks of open_ms_data, where they are at hand."""

from functools import cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

FOLDER = Path(__file__).resolve().parents[3] / "shared/data/open_ms_lesions/gold_standard_MNI"
SHAPE = (182, 218, 182)


@cache
def read_masks() -> tuple[Tensor, ...]:
    """bool (182, 218, 182), 1 mm, from the patient with the fewest lesion voxels to the most.

    Raises:
        FileNotFoundError: the data set is not beside the repository.
        ImportError: nibabel is not installed.
    """
    files = sorted(FOLDER.glob("*.nii.gz"))
    if not files:
        raise FileNotFoundError(f"{FOLDER}: expected masks, found none")
    import nibabel

    masks = [torch.from_numpy(np.asarray(nibabel.load(file).dataobj) != 0) for file in files]
    # NIfTI is stored in Fortran order; a pipeline hands on what is contiguous.
    return tuple(sorted((mask.contiguous() for mask in masks), key=_num_voxels))


def _num_voxels(mask: Tensor) -> int:
    return int(mask.sum())


def real_mask(content: str, shape: tuple[int, ...]) -> Tensor:
    """The mask of a patient, "few", "median" or "many" lesion voxels, cropped to a shape.

    Of "batch": (N, 1, D, H, W), patients spread evenly over the same order.

    Raises:
        FileNotFoundError, ImportError: as `read_masks`.
    """
    masks = read_masks()
    window = tuple(slice(size) for size in shape[-3:])
    if content == "batch":
        picked = np.linspace(0, len(masks) - 1, shape[0]).round().astype(int)
        return torch.stack([masks[index][window] for index in picked])[:, None]
    index = {"few": 0, "median": len(masks) // 2, "many": len(masks) - 1}[content]
    return masks[index][window].contiguous()
