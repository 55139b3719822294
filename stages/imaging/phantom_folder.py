"""Write the phantom's patients as an nnU-Net folder."""

import gzip
import json
import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import nibabel
import numpy as np
from numpy.typing import NDArray

from stages.contract import Stage, folder, write_text
from stages.imaging.phantom import make_phantom
from stages.imaging.phantom_recipe import PhantomRecipe

PHANTOM_FOLDER = folder(Stage.ingest_data) / "phantom"
KEPT_RECIPE = PHANTOM_FOLDER / "recipe.yaml"
"""The recipe as it was used, beside what it made: later stages depend on the folder alone."""

_PREFIX = "patient"


def write_phantom_folder(recipe: PhantomRecipe, target: Path) -> None:
    """Write `imagesTr`, `labelsTr`, `dataset.json`, `recipe.yaml`; equal recipes, equal bytes."""
    for name in ("imagesTr", "labelsTr"):
        (target / name).mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(max_workers=min(2, os.cpu_count() or 1)) as pool:
        list(pool.map(partial(_write_patient, recipe, target), range(recipe.num_patients)))
    description = {
        "name": "Lesion phantom",
        "channel_names": {"0": "FLAIR"},
        "labels": {"background": 0, "lesion": 1},
        "numTraining": recipe.num_patients,
        "file_ending": ".nii.gz",
    }
    write_text(target / "dataset.json", json.dumps(description, indent=2) + "\n")
    # JSON is YAML too.
    write_text(target / KEPT_RECIPE.name, recipe.model_dump_json(indent=2) + "\n")


def case_name(index: int) -> str:
    """Name of a patient's case."""
    return f"{_PREFIX}{index:03d}"


def patient_index(case_id: str) -> int:
    """The patient that a case's name stands for."""
    return int(case_id.removeprefix(_PREFIX))


def _write_patient(recipe: PhantomRecipe, target: Path, index: int) -> None:
    image, label = make_phantom(recipe, index)
    affine = np.diag([*recipe.spacing_mm, 1.0])
    affine[:3, 3] = [
        (s - e) / 2 for s, e in zip(recipe.spacing_mm, recipe.field_of_view_mm, strict=True)
    ]
    name = case_name(index)
    _write_nifti(target / "imagesTr" / f"{name}_0000.nii.gz", image[0].astype(np.int16), affine)
    _write_nifti(target / "labelsTr" / f"{name}.nii.gz", label, affine)


def _write_nifti(
    path: Path, voxels: NDArray[np.int16] | NDArray[np.uint8], affine: NDArray[np.float64]
) -> None:
    image = nibabel.Nifti1Image(voxels, affine)
    image.header.set_xyzt_units("mm")
    # No time stamp, so that equal voxels are equal files; level 1 is several times faster than the
    # default.
    path.write_bytes(gzip.compress(image.to_bytes(), compresslevel=1, mtime=0))
