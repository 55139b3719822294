"""From the workers' times to compute, waiting and exposed communication."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stages.contract import Figure, known
from stages.measuring.bootstrap import interval, resample_medians
from stages.measuring.timing import Timing


@dataclass(frozen=True)
class Decomposition:
    """One step of several workers, taken apart."""

    compute_ms: Figure
    """The slowest worker without exchange."""
    exposed_ms: Figure
    skew_ms: Figure
    """How much longer the slowest worker computes than the fastest."""
    together: Timing
    """The slowest worker with exchange."""


def decompose(report: Mapping[str, Any]) -> Decomposition:
    """Take the times of `measure_exchange` apart; exposed communication is never below 0."""
    alone, together = _slowest(report["alone_ms"]), _slowest(report["together_ms"])
    skews = Timing(tuple(max(row) - min(row) for row in report["alone_ms"]))
    exposed = together.median_ms - alone.median_ms
    differences = resample_medians(together.samples_ms, 1) - resample_medians(alone.samples_ms, 2)
    low, high = interval(np.maximum(differences, 0.0))
    return Decomposition(
        compute_ms=alone.as_figure(),
        exposed_ms=known(max(exposed, 0.0), low, high, len(alone.samples_ms)),
        skew_ms=skews.as_figure(),
        together=together,
    )


def _slowest(rows: Sequence[Sequence[float]]) -> Timing:
    return Timing(tuple(max(row) for row in rows))
