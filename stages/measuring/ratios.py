"""Ratios and sums of timings, with the uncertainty of both sides."""

import numpy as np
from numpy.typing import NDArray

from stages.contract import Figure, known, unknown
from stages.measuring.bootstrap import interval, resample, resample_medians
from stages.measuring.timing import Timing


def ratio(numerator: Timing, denominator: Timing) -> Figure:
    """Ratio of the medians with its bootstrap 95 % interval; no interval from a single sample."""
    value = numerator.median_ms / denominator.median_ms
    if min(len(numerator.samples_ms), len(denominator.samples_ms)) < 2:
        return known(value, num_samples=1)
    ratios = resample_medians(numerator.samples_ms, 1) / resample_medians(denominator.samples_ms, 2)
    return _with_interval(value, ratios, numerator, denominator)


def is_gain(gain: Figure) -> bool:
    """Whether a ratio before / after may be claimed as a gain: its whole interval lies above 1."""
    return gain.low is not None and gain.low > 1


def total(first: Timing, second: Timing) -> Figure:
    """Sum of the medians of two parts that were timed apart, with its bootstrap 95 % interval."""
    value = first.median_ms + second.median_ms
    if min(len(first.samples_ms), len(second.samples_ms)) < 2:
        return known(value, num_samples=1)
    sums = resample_medians(first.samples_ms, 1) + resample_medians(second.samples_ms, 2)
    return _with_interval(value, sums, first, second)


def total_p95(first: Timing, second: Timing) -> Figure:
    """95th percentile of the sum of two parts that were timed apart, and that vary independently.

    Over all pairs of samples; with its bootstrap 95 % interval.
    """
    value = _p95_of_sums(np.array([first.samples_ms]), np.array([second.samples_ms]))[0]
    if min(len(first.samples_ms), len(second.samples_ms)) < 2:
        return known(float(value), num_samples=1)
    resampled = _p95_of_sums(resample(first.samples_ms, 1), resample(second.samples_ms, 2))
    return _with_interval(float(value), resampled, first, second)


def share(part: Timing, rest: Timing) -> Figure:
    """Share of a part in the whole, part / (part + rest), with its bootstrap 95 % interval."""
    value = part.median_ms / (part.median_ms + rest.median_ms)
    if min(len(part.samples_ms), len(rest.samples_ms)) < 2:
        return known(value, num_samples=1)
    parts, rests = resample_medians(part.samples_ms, 1), resample_medians(rest.samples_ms, 2)
    return _with_interval(value, parts / (parts + rests), part, rest)


def ratio_of_total(first: Timing, second: Timing, denominator: Timing) -> Figure:
    """(first + second) / denominator, for a whole whose parts were timed apart, with its
    interval."""
    value = (first.median_ms + second.median_ms) / denominator.median_ms
    if min(len(part.samples_ms) for part in (first, second, denominator)) < 2:
        return known(value, num_samples=1)
    sums = resample_medians(first.samples_ms, 1) + resample_medians(second.samples_ms, 2)
    ratios = sums / resample_medians(denominator.samples_ms, 3)
    return _with_interval(value, ratios, first, second, denominator)


def total_cv(first: Timing, second: Timing) -> Figure:
    """Coefficient of variation of the sum of two parts that vary independently."""
    if min(len(first.samples_ms), len(second.samples_ms)) < 2:
        return unknown("a single sample does not vary")
    variance = np.var(first.samples_ms, ddof=1) + np.var(second.samples_ms, ddof=1)
    mean = np.mean(first.samples_ms) + np.mean(second.samples_ms)
    return known(float(np.sqrt(variance) / mean))


def _with_interval(value: float, statistics: NDArray[np.float64], *timings: Timing) -> Figure:
    low, high = interval(statistics)
    return known(value, low, high, min(len(timing.samples_ms) for timing in timings))


def _p95_of_sums(firsts: NDArray[np.float64], seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    sums = firsts[:, :, None] + seconds[:, None, :]
    p95: NDArray[np.float64] = np.percentile(sums.reshape(len(sums), -1), 95, axis=1)
    return p95
