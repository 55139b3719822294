"""Bootstrap: how far a median could have been off, from the samples alone."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

NUM_RESAMPLES = 2000
"""Enough for the second digit of a 95 % interval."""


def resample(samples: Sequence[float], seed: int = 0) -> NDArray[np.float64]:
    """Draw with replacement: (NUM_RESAMPLES, number of samples)."""
    values = np.asarray(samples, np.float64)
    rng = np.random.default_rng(seed)
    drawn: NDArray[np.float64] = values[
        rng.integers(len(values), size=(NUM_RESAMPLES, len(values)))
    ]
    return drawn


def resample_medians(samples: Sequence[float], seed: int = 0) -> NDArray[np.float64]:
    """Medians of the resamples: (NUM_RESAMPLES,)."""
    medians: NDArray[np.float64] = np.median(resample(samples, seed), axis=1)
    return medians


def interval(statistics: NDArray[np.float64]) -> tuple[float, float]:
    """The middle 95 % of resampled statistics."""
    low, high = np.percentile(statistics, [2.5, 97.5])
    return float(low), float(high)
