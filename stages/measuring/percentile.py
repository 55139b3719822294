"""The 95th percentile of a timing with its interval."""

import numpy as np

from stages.contract import Figure, known
from stages.measuring.bootstrap import interval, resample
from stages.measuring.timing import Timing


def p95_figure(timing: Timing) -> Figure:
    """Linear between samples, with its bootstrap 95 % interval; none from a single sample."""
    if len(timing.samples_ms) < 2:
        return known(timing.p95_ms, num_samples=1)
    low, high = interval(np.percentile(resample(timing.samples_ms), 95, axis=1))
    return known(timing.p95_ms, low, high, len(timing.samples_ms))
