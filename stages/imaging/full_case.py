"""One case at the size at which it is deployed."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stages.contract import Case, DataShape, IngestResult, InputError, SourceKind
from stages.imaging.fitting import fit_image, fit_label
from stages.imaging.phantom import make_phantom
from stages.imaging.phantom_folder import KEPT_RECIPE, patient_index
from stages.imaging.phantom_recipe import read_recipe
from stages.imaging.reading import read_case


def load_full_case(
    ingest: IngestResult, cases: Sequence[Case], shape: DataShape, index: int = 0
) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    """Image (C, *case_shape) and label (*case_shape) of the case at `index`.

    A phantom is made anew at that size, so that its lesions are as sharp as its voxels are small; a
    case from files is read and fitted.

    Raises:
        InputError: there is no such case, or its files cannot be read.
    """
    if not 0 <= index < len(cases):
        raise InputError(f"expected a case at place {index}, the manifest has {len(cases)}")
    case = cases[index]
    if ingest.kind is SourceKind.phantom:
        return make_phantom(read_recipe(KEPT_RECIPE), patient_index(case.case_id), shape.case_shape)
    image, label = read_case(case, ingest.label_map)
    return fit_image(image, shape), fit_label(label, shape).astype(np.uint8)
