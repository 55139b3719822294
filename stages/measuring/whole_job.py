"""From one step to the whole job."""

from stages.contract import Figure, known, unknown


def job_hours(step_time_ms: Figure, num_steps: int) -> Figure:
    """Hours of all steps; the interval is that of the step."""
    return step_time_ms.times(num_steps / 3.6e6)


def job_cost(hours: Figure, price_per_hour: float, num_workers: int = 1) -> Figure:
    """Currency for all workers together."""
    return hours.times(price_per_hour * num_workers)


def relative_error(forecast: Figure, realised: Figure) -> Figure:
    """(forecast - realised) / realised."""
    if forecast.value is None or realised.value is None:
        return unknown(forecast.reason or realised.reason or "not measured")
    if realised.value == 0:
        return unknown("a fraction of zero is undefined")
    return known((forecast.value - realised.value) / realised.value)
