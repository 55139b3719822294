"""Predict a case through the deployed geometry, and compare at the case's own voxels."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stages.contract import Case, DataShape, IngestResult
from stages.imaging.fitting import fit_image, unfit_label
from stages.imaging.full_case import load_full_case
from stages.imaging.reading import read_case


def predict_natively(
    case: Case,
    ingest: IngestResult,
    shape: DataShape,
    predict: Callable[[NDArray[np.float32]], NDArray[Any]],
) -> tuple[NDArray[Any], NDArray[Any], tuple[float, ...]]:
    """Predicted and true label values (*spatial), and their spacing in mm.

    A phantom is as sharp as its voxels are small: it is compared as deployed. Any other case is
    compared as it was read.

    Args:
        predict: from an image (C, *case_shape) to a mask (*case_shape).
    """
    if shape.fit == "render":
        image, truth = load_full_case(ingest, [case], shape)
        return predict(image), truth, shape.spacing_mm
    image, label = read_case(case, ingest.label_map)
    mask = unfit_label(predict(fit_image(image, shape)), label.shape, shape)
    return mask, label, case.spacing_mm
