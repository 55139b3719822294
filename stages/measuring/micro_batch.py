"""Which micro batch fits the device: on paper first, then for real, from the whole batch down."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from stages.contract import Figure, known, unknown
from stages.measuring.child import ChildFailedError
from stages.measuring.forecast_memory import MemoryForecast
from stages.measuring.timing import Timing

GIB = 2**30
Forecast = Callable[[int], MemoryForecast]
Measure = Callable[[int], Mapping[str, Any]]
"""Steps at a micro batch in a process of its own: "peak_bytes", a figure, and "samples_ms"."""


@dataclass(frozen=True)
class Probe:
    """What was found out about one micro batch."""

    micro_batch_size: int
    forecast_bytes: Figure
    state_bytes: Figure
    measured_bytes: Figure
    step_time_ms: Figure
    fits: bool | None


def find_fitting(batch_size: int, budget_bytes: int, forecast: Forecast, measure: Measure) -> Probe:
    """The largest micro batch that fits, or of which nobody can tell, else the smallest.

    A micro batch whose forecast, a lower bound, is over the budget is not run at all.
    """
    sizes = [size for size in range(batch_size, 1, -1) if batch_size % size == 0]
    for size in sizes:
        probe = probe_micro_batch(size, budget_bytes, forecast, measure)
        if probe.fits is not False:
            return probe
    return probe_micro_batch(1, budget_bytes, forecast, measure)


def probe_micro_batch(size: int, budget_bytes: int, forecast: Forecast, measure: Measure) -> Probe:
    """Forecast, and unless that rules it out, measure."""
    peak, state = _forecast(size, forecast)
    if peak.value is not None and peak.value > budget_bytes:
        not_run = unknown(
            f"nothing was run: the forecast for micro batch {size}, {peak.value / GIB:.3g} GiB, is "
            f"over the device's {budget_bytes / GIB:.3g} GiB"
        )
        return Probe(size, peak, state, not_run, not_run, False)
    try:
        answer = measure(size)
    except ChildFailedError as error:
        failed = unknown(f"micro batch {size}: {error}")
        return Probe(size, peak, state, failed, failed, False if error.is_out_of_memory else None)
    measured = Figure.model_validate(answer["peak_bytes"])
    step = Timing(tuple(answer["samples_ms"])).as_figure()
    fits = None if measured.value is None else measured.value <= budget_bytes
    return Probe(size, peak, state, measured, step, fits)


def _forecast(size: int, forecast: Forecast) -> tuple[Figure, Figure]:
    try:
        forecast_bytes = forecast(size)
    except Exception as error:  # a model may do on fake tensors whatever it likes
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        reason = unknown(f"the model does not run on fake tensors: {first}")
        return reason, reason
    return known(float(forecast_bytes.peak_bytes)), known(float(forecast_bytes.state_bytes))
