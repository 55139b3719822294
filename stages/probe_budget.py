"""G: does the job fit one device, and what does it take: memory first on paper, then for real."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stages.contract import (
    BudgetResult,
    IngestResult,
    Settings,
    Stage,
    chosen_implementation,
    derive_data_shape,
    execute,
    load_settings,
    load_workload,
    read,
    read_manifest,
    route,
)

if TYPE_CHECKING:
    from stages.measuring.forecast_memory import MemoryForecast
    from stages.measuring.micro_batch import Probe

GIB = 2**30
CHILD_LIMIT_S = 1800.0
MEASURE = "--measure"


def probe_budget(settings: Settings) -> BudgetResult:
    """Forecast, measure and judge the job on one device."""
    from stages.measuring.whole_job import job_cost, job_hours, relative_error
    from stages.rules.budget import Demand, judge_budget

    infrastructure, product, training = settings.infrastructure, settings.product, settings.training
    budget_bytes = int(infrastructure.device_memory_gib * GIB)
    probe = _find_fitting(settings, budget_bytes)
    hours = job_hours(probe.step_time_ms, training.num_steps)
    cost = job_cost(hours, infrastructure.device_price_per_hour)
    is_split = probe.fits is True and probe.micro_batch_size < training.batch_size
    remedy = (
        f"gradient accumulation, {training.batch_size // probe.micro_batch_size} micro batches of "
        f"{probe.micro_batch_size}"
        if is_split
        else None
    )
    measured = probe.measured_bytes
    demand = Demand(
        fits_memory=probe.fits,
        memory_bytes=probe.forecast_bytes if probe.fits is False else measured,
        memory_budget_bytes=budget_bytes,
        remedy=remedy,
        job_hours=hours,
        budget_hours=product.training_hours_budget,
        job_cost=cost,
        budget_cost=product.compute_budget,
        currency=product.currency,
    )
    judgement = judge_budget(demand)
    # One machine is no way out for a job that does not fit it.
    cheaper = Stage.probe_scaling if probe.fits is False else Stage.train_single
    needing = product.verdicts_needing_approval
    following, told = route(Stage.probe_budget, judgement.verdict, judgement.next, cheaper, needing)
    return BudgetResult(
        stage=Stage.probe_budget,
        next=following,
        reason=judgement.reason + told,
        verdict=judgement.verdict,
        forecast_memory_bytes=probe.forecast_bytes,
        measured_memory_bytes=measured,
        memory_forecast_error=relative_error(probe.forecast_bytes, measured),
        memory_budget_bytes=budget_bytes,
        state_bytes=probe.state_bytes,
        step_time_ms=probe.step_time_ms,
        num_steps=training.num_steps,
        job_hours=hours,
        budget_hours=product.training_hours_budget,
        job_cost=cost,
        currency=product.currency,
        remedy=remedy,
        micro_batch_size=probe.micro_batch_size,
        fits_memory=probe.fits,
    )


def _find_fitting(settings: Settings, budget_bytes: int) -> "Probe":
    """Forecast in this process, measure in children."""
    from stages.measuring.child import ask_child
    from stages.measuring.forecast_memory import forecast_memory
    from stages.measuring.micro_batch import find_fitting

    workload = load_workload(settings.training)
    shape = derive_data_shape(read(Stage.ingest_data, IngestResult), settings)
    batch_size = settings.training.batch_size

    def forecast(micro_batch_size: int) -> "MemoryForecast":
        return forecast_memory(
            lambda: workload.make_model(shape),
            shape.num_channels,
            shape.num_classes,
            shape.working_shape,
            batch_size,
            micro_batch_size,
        )

    def measure_in_child(micro_batch_size: int) -> dict[str, Any]:
        request = {"micro_batch_size": micro_batch_size}
        return ask_child("stages.probe_budget", MEASURE, request, CHILD_LIMIT_S)

    return find_fitting(batch_size, budget_bytes, forecast, measure_in_child)


def measure(request: Path) -> None:
    """In the child: real steps of the job at one micro batch; peak and times go into the answer."""
    from functools import partial

    from stages.imaging.reading import read_case
    from stages.measuring.child import answer_path
    from stages.measuring.step_probe import probe_steps
    from stages.training.order import make_batch
    from stages.training.trial import prepare_trial, step_in_team

    settings = load_settings(Stage.probe_budget)
    asked: dict[str, Any] = json.loads(request.read_text("utf-8"))
    ingest = read(Stage.ingest_data, IngestResult)
    setup, samples = prepare_trial(
        ingest,
        read_manifest(),
        partial(read_case, label_map=ingest.label_map),
        chosen_implementation(),
        settings,
        asked["micro_batch_size"],
    )
    _, take_step = step_in_team(setup, samples)
    batch = range(setup.job.batch_size)
    make_batch(setup.workload, samples, setup.job, batch)  # loads its code before the peak
    peak, timing = probe_steps(take_step, setup.job.device)
    answer = {"peak_bytes": peak.model_dump(), "samples_ms": timing.samples_ms}
    answer_path(request).write_text(json.dumps(answer), "utf-8")


def main() -> None:
    if sys.argv[1:2] == [MEASURE]:
        measure(Path(sys.argv[2]))
    else:
        execute(Stage.probe_budget, probe_budget)


if __name__ == "__main__":
    main()
