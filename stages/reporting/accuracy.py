"""Accuracy of a packed model on whole cases, at their own voxels."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stages.contract import Case, Figure, known, unknown

NUM_RESAMPLES = 2000
Score = Callable[[NDArray[Any], NDArray[Any], tuple[float, ...]], Mapping[str, float]]
Predict = Callable[[Case], tuple[NDArray[Any], NDArray[Any], tuple[float, ...]]]
"""Predicted and true label values (*spatial) of a case, and their spacing in mm."""


def held_out(cases: Sequence[Case]) -> list[Case]:
    """The test cases, or where there are none the validation cases."""
    test = [case for case in cases if case.split == "test"]
    return test or [case for case in cases if case.split == "validation"]


def score_cases(cases: Sequence[Case], predict: Predict, score: Score) -> dict[str, Figure]:
    """Mean of each metric with an interval over patients; a metric undefined on a case skips it."""
    rows = [score(*predict(case)) for case in cases]
    patients = [case.patient for case in cases]
    names = list(rows[0]) if rows else []
    return {name: mean_by_patient([row[name] for row in rows], patients) for name in names}


def mean_by_patient(values: Sequence[float], patients: Sequence[str]) -> Figure:
    """Mean over cases; the interval draws patients with all of their cases.

    Cases of one patient are not independent. One patient gives a value without an interval.
    """
    groups: dict[str, list[float]] = {}
    for value, patient in zip(values, patients, strict=True):
        if not math.isnan(value):
            groups.setdefault(patient, []).append(value)
    defined = [value for group in groups.values() for value in group]
    if not defined:
        return unknown(f"undefined on all of {len(values)} cases")
    mean = float(np.mean(defined))
    if len(groups) < 2:
        return known(mean, num_samples=len(defined))
    sums = np.array([sum(group) for group in groups.values()])
    counts = np.array([len(group) for group in groups.values()])
    drawn = np.random.default_rng(0).integers(len(sums), size=(NUM_RESAMPLES, len(sums)))
    low, high = np.percentile(sums[drawn].sum(1) / counts[drawn].sum(1), [2.5, 97.5])
    return known(mean, float(low), float(high), len(defined))
