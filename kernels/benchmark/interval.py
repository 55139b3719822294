"""How far a median could have been off, from its samples alone (percentile bootstrap)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

NUM_RESAMPLES = 1000
LEAST_SAMPLES = 3
"""Fewer give no interval worth the name."""


@dataclass(frozen=True)
class Estimate:
    """A median with its 95 % interval; no interval where there are too few samples."""

    value: float
    low: float | None = None
    high: float | None = None

    def is_within(self, fraction: float) -> bool:
        """Whether the interval reaches no further than this fraction of the value."""
        if self.low is None or self.high is None:
            return False
        return max(self.high - self.value, self.value - self.low) <= fraction * self.value

    def inverted(self) -> "Estimate":
        """Of the reciprocal; for values above 0."""
        return Estimate(
            1 / self.value,
            None if self.high is None else 1 / self.high,
            None if self.low is None else 1 / self.low,
        )


def median_ratio(numerators: Sequence[float], denominators: Sequence[float]) -> Estimate:
    """Median of the ratios of samples taken in the same round, pair by pair.

    Pairs rather than two medians: what slows a whole round down cancels out.
    """
    ratios = np.asarray(numerators, np.float64) / np.asarray(denominators, np.float64)
    value = float(np.median(ratios))
    if len(ratios) < LEAST_SAMPLES:
        return Estimate(value)
    rng = np.random.default_rng(0)
    drawn = ratios[rng.integers(len(ratios), size=(NUM_RESAMPLES, len(ratios)))]
    low, high = np.percentile(np.median(drawn, axis=1), [2.5, 97.5])
    return Estimate(value, float(low), float(high))
