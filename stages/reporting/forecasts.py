"""Forecasts against what then happened: each error is kept, to judge the next forecast by."""

from stages.contract import Figure, Forecast, known, unknown
from stages.reporting.evidence import Evidence


def compare_forecasts(evidence: Evidence) -> tuple[Forecast, ...]:
    """Gain, memory, step time, job hours and scaling; what did not happen is unknown."""
    support, embed, budget = evidence.support, evidence.embed, evidence.budget
    training, scaling = evidence.training, evidence.scaling
    no_budget, no_training = "the budget was not probed", "nothing was trained"
    hours = known(training.training_s / 3600) if training else unknown(no_training)
    return (
        _compare(
            "end-to-end gain of the operator (×)",
            support.forecast_gain,
            embed.realised_gain if embed else unknown("no custom operator was embedded"),
        ),
        _compare(
            "peak memory of a training step (bytes)",
            budget.forecast_memory_bytes if budget else unknown(no_budget),
            budget.measured_memory_bytes if budget else unknown(no_budget),
        ),
        _compare(
            "training step (ms)",
            budget.step_time_ms if budget else unknown(no_budget),
            training.step_time_ms if training else unknown(no_training),
        ),
        _compare("training job (h)", budget.job_hours if budget else unknown(no_budget), hours),
        _compare(
            "efficiency of distributed training",
            scaling.forecast_efficiency if scaling else unknown("distribution was not probed"),
            evidence.distributed.efficiency
            if evidence.distributed
            else unknown("training was not distributed"),
        ),
    )


def _compare(name: str, forecast: Figure, realised: Figure) -> Forecast:
    """Error as a fraction of what happened."""
    if forecast.value is None or realised.value is None:
        missing = forecast.reason or realised.reason or ""
        error = unknown(missing)
    elif realised.value == 0:
        error = unknown("a fraction of zero is undefined")
    else:
        error = known((forecast.value - realised.value) / realised.value)
    return Forecast(name=name, forecast=forecast, realised=realised, error=error)
