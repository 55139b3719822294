"""Means and medians with bootstrap intervals; seeded, so that equal data give equal intervals.

Cases of one patient are not independent: patients are drawn, with all of their cases.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stages.contract import Figure, known, unknown

NUM_RESAMPLES = 2000
INTERVAL = (2.5, 97.5)
_SEED = 0


def mean_over_patients(values: Sequence[float], patients: Sequence[str]) -> Figure:
    """Mean over cases with an interval over patients; NaN cases are left out.

    Args:
        values: one number a case.
        patients: the patient of each case.
    """
    return lift_over_patients([values], patients)


def lift_over_patients(differences: Sequence[Sequence[float]], patients: Sequence[str]) -> Figure:
    """Mean over seeds and cases, with an interval over both; NaN entries are left out.

    Each resample draws seeds and patients with replacement, independently: a lift that only one
    seed or one patient shows is thereby not taken for certain.

    Args:
        differences: for each seed, one number a case.
        patients: the patient of each case.

    Returns:
        `num_samples` counts the entries that were not NaN. One patient gives a value without
        interval.
    """
    values = np.asarray(differences, dtype=np.float64).reshape(len(differences), len(patients))
    is_known = np.isfinite(values)
    if not is_known.any():
        return unknown(f"undefined on all of {len(patients)} cases")
    names, patient_of_case = np.unique(np.asarray(patients), return_inverse=True)
    belongs = np.eye(len(names))[patient_of_case]
    sums = np.where(is_known, values, 0.0) @ belongs
    counts = is_known.astype(np.float64) @ belongs
    mean = float(sums.sum() / counts.sum())
    num_known = int(is_known.sum())
    if len(names) == 1:
        return known(mean, num_samples=num_known)
    means = _resampled_means(sums, counts)
    low, high = np.percentile(means, INTERVAL)
    return known(mean, float(low), float(high), num_known)


def median_of(samples: Sequence[float]) -> Figure:
    """Median with its bootstrap interval."""
    values = np.asarray(samples, dtype=np.float64)
    if not len(values):
        return unknown("no samples")
    draws = np.random.default_rng(_SEED).integers(len(values), size=(NUM_RESAMPLES, len(values)))
    low, high = np.percentile(np.median(values[draws], axis=1), INTERVAL)
    return known(float(np.median(values)), float(low), float(high), len(values))


def _resampled_means(sums: NDArray[Any], counts: NDArray[Any]) -> NDArray[Any]:
    """Means over drawn (seeds, patients); draws that hold nothing known are skipped."""
    generator = np.random.default_rng(_SEED)
    num_seeds, num_patients = sums.shape
    seeds = generator.multinomial(num_seeds, np.full(num_seeds, 1 / num_seeds), NUM_RESAMPLES)
    patients = generator.multinomial(
        num_patients, np.full(num_patients, 1 / num_patients), NUM_RESAMPLES
    )
    drawn_sums = np.einsum("rs,sp,rp->r", seeds, sums, patients)
    drawn_counts = np.einsum("rs,sp,rp->r", seeds, counts, patients)
    means: NDArray[Any] = drawn_sums[drawn_counts > 0] / drawn_counts[drawn_counts > 0]
    return means
