"""How good a segmentation is, by voxel and by lesion; by SciPy, never by an operator under test."""

from collections.abc import Mapping
from math import nan, pi
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

SMALL_DIAMETER_MM = 10.0
"""A lesion is small when its volume (area in 2-D) is below a ball's (disk's) of this diameter."""


def score_case(
    predicted: NDArray[Any], truth: NDArray[Any], spacing_mm: tuple[float, ...]
) -> Mapping[str, float]:
    """Metrics of one case, each 0..1, or NaN where the case says nothing on it.

    `dice` is the mean over the foreground classes of the truth. Without any: 1 if nothing is
    predicted either, else 0.

    Lesions are components of the foreground, full connectivity. A true lesion is found when a
    predicted one overlaps it; a predicted lesion is right when it overlaps a true one. `lesion_f1`
    is the harmonic mean of recall and precision. Where neither side has a lesion all three are NaN;
    where one side alone has, all three are 0, so that neither a miss nor a false alarm can raise a
    mean by dropping out.

    `lesion_recall_small` and `lesion_recall_large` split recall by the size of the true lesion.

    Args:
        predicted: label values (*spatial).
        truth: label values (*spatial).
        spacing_mm: one number an axis.

    Raises:
        ValueError: the shapes differ.
    """
    if predicted.shape != truth.shape:
        raise ValueError(f"score_case: expected shape {truth.shape}, got {predicted.shape}")
    full = ndimage.generate_binary_structure(truth.ndim, truth.ndim)
    true_lesions, num_true = ndimage.label(truth > 0, full)
    found_lesions, num_predicted = ndimage.label(predicted > 0, full)
    is_found = _touched(true_lesions, num_true, predicted > 0)
    is_right = _touched(found_lesions, num_predicted, truth > 0)
    is_small = _sizes(true_lesions, num_true) * np.prod(spacing_mm) < _ball(truth.ndim)
    scores = {"dice": _dice(predicted, truth)}
    scores |= _lesion_scores(is_found, is_right)
    scores["lesion_recall_small"] = _mean(is_found[is_small])
    scores["lesion_recall_large"] = _mean(is_found[~is_small])
    return scores


def _dice(predicted: NDArray[Any], truth: NDArray[Any]) -> float:
    classes = [value for value in np.unique(truth) if value > 0]
    if not classes:
        return float(not (predicted > 0).any())
    return float(np.mean([_dice_of(predicted == value, truth == value) for value in classes]))


def _dice_of(predicted: NDArray[Any], truth: NDArray[Any]) -> float:
    return 2 * float((predicted & truth).sum()) / float(predicted.sum() + truth.sum())


def _lesion_scores(is_found: NDArray[Any], is_right: NDArray[Any]) -> dict[str, float]:
    if not len(is_found) and not len(is_right):
        recall = precision = f1 = nan
    elif not len(is_found) or not len(is_right):
        recall = precision = f1 = 0.0
    else:
        recall, precision = _mean(is_found), _mean(is_right)
        f1 = 2 * recall * precision / (recall + precision) if recall + precision else 0.0
    return {"lesion_f1": f1, "lesion_recall": recall, "lesion_precision": precision}


def _touched(lesions: NDArray[Any], num_lesions: int, other: NDArray[Any]) -> NDArray[Any]:
    """For each lesion, whether `other` covers a voxel of it."""
    return np.bincount(lesions[other], minlength=num_lesions + 1)[1:] > 0


def _sizes(lesions: NDArray[Any], num_lesions: int) -> NDArray[Any]:
    return np.bincount(lesions.ravel(), minlength=num_lesions + 1)[1:]


def _ball(num_dims: int) -> float:
    return pi / 6 * SMALL_DIAMETER_MM**3 if num_dims == 3 else pi / 4 * SMALL_DIAMETER_MM**2


def _mean(values: NDArray[Any]) -> float:
    return float(values.mean()) if len(values) else nan
