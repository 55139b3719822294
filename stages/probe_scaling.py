"""G: does distribution pay: memory on paper, then two real workers, then a forecast for more."""

import json
import os
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stages.contract import (
    SCRATCH,
    BudgetResult,
    Figure,
    IngestResult,
    ScalingResult,
    ScalingVerdict,
    Settings,
    Stage,
    chosen_implementation,
    execute,
    known,
    load_settings,
    read,
    read_manifest,
    route,
    unknown,
    write_text,
)

if TYPE_CHECKING:
    from stages.rules.points import Measured, Seats

WORKER = "--worker"
NUM_PROBED = 2
LAUNCH_LIMIT_S = 900.0


def probe_scaling(settings: Settings) -> ScalingResult:
    """Judge distribution of a job that is over the budget of one worker."""
    from stages.rules.sharding import tell_why_it_fits_nowhere
    from stages.training.launch import LaunchError

    budget = read(Stage.probe_budget, BudgetResult)
    reason = tell_why_it_fits_nowhere(budget, settings.infrastructure.max_workers)
    if reason is not None:
        return _without_measurement(settings, ScalingVerdict.impossible, reason)
    reason = _cannot_be_tried(settings)
    if reason is not None:
        return _without_measurement(settings, ScalingVerdict.refuse, reason)
    try:
        report = _run_workers(settings, budget)
    except LaunchError as error:
        reason = f"Cannot tell: two workers could not be measured: {str(error).splitlines()[-1]}"
        return _without_measurement(settings, ScalingVerdict.inconclusive, reason)
    return _judge(settings, report, budget.currency)


def _cannot_be_tried(settings: Settings) -> str | None:
    most, batch_size = settings.infrastructure.max_workers, settings.training.batch_size
    if most < NUM_PROBED:
        return "One worker is all that infrastructure.max_workers allows."
    if batch_size < NUM_PROBED:
        return f"A global batch of {batch_size} cannot be split over two workers."
    if settings.infrastructure.device.startswith("cuda"):
        import torch

        if torch.cuda.device_count() < NUM_PROBED:
            return f"This machine has {torch.cuda.device_count()} GPU: two workers need two."
    return None


def _run_workers(settings: Settings, budget: BudgetResult) -> dict[str, Any]:
    """Two workers under torchrun; what the first of them wrote down."""
    from stages.training.launch import launch

    request = SCRATCH / "probe_scaling" / "request.json"
    answer = _answer_of(request)
    answer.unlink(missing_ok=True)
    write_text(request, json.dumps({"micro_batch_size": budget.micro_batch_size}))
    launch(
        "stages.probe_scaling",
        (WORKER, str(request)),
        num_workers=NUM_PROBED,
        failure_folder=request.parent,
        time_limit_s=LAUNCH_LIMIT_S,
        num_restarts=0,
    )
    report: dict[str, Any] = json.loads(answer.read_text("utf-8"))
    return report


def _judge(settings: Settings, report: dict[str, Any], currency: str) -> ScalingResult:
    from stages.measuring.decomposition import decompose
    from stages.rules.points import Job, make_points
    from stages.rules.ring import link_of
    from stages.rules.scaling import HERE, ScalingBudget, judge_scaling, largest_speedup

    product, infrastructure, training = settings.product, settings.infrastructure, settings.training
    measured = _interpret(report, training.batch_size)
    parts = decompose(report)
    points = make_points(
        measured,
        Job(training.num_steps, training.batch_size, infrastructure.device_price_per_hour),
        infrastructure.max_workers,
        _find_seats(infrastructure.device),
        link_of(
            infrastructure.network.bandwidth_mbit_s,
            infrastructure.network.latency_us,
            measured.link.latency_us,
        ),
    )
    budget = ScalingBudget(
        product.training_hours_budget,
        product.compute_budget,
        currency,
        infrastructure.cluster_fixed_cost,
    )
    judgement = judge_scaling(points, budget)
    following, told = route(
        Stage.probe_scaling,
        judgement.verdict,
        judgement.next,
        Stage.train_single,
        product.verdicts_needing_approval,
    )
    best = largest_speedup(points, HERE)
    num_workers = judgement.num_workers if following is Stage.train_distributed else 1
    if following is Stage.train_distributed and num_workers == 1:  # approved against the verdict
        num_workers = best.num_workers if best else NUM_PROBED
    at = next((p for p in points if p.num_workers == max(num_workers, NUM_PROBED)), points[0])
    return ScalingResult(
        stage=Stage.probe_scaling,
        next=following,
        reason=judgement.reason + told,
        verdict=judgement.verdict,
        compute_ms=parts.compute_ms,
        exposed_communication_ms=parts.exposed_ms,
        skew_ms=parts.skew_ms,
        latency_us=known(measured.link.latency_us),
        bandwidth_mbit_s=known(measured.link.bandwidth_mbit_s),
        points=points,
        num_workers=num_workers,
        forecast_efficiency=at.efficiency,
    )


def _interpret(report: dict[str, Any], batch_size: int) -> "Measured":
    """From the workers' report to what the forecast needs."""
    from stages.measuring.decomposition import decompose
    from stages.measuring.ratios import ratio
    from stages.measuring.timing import Timing
    from stages.rules.points import Measured
    from stages.rules.ring import StepProfile, fit_link

    parts = decompose(report)
    alone = {int(size): Timing(tuple(ms)) for size, ms in report["one_worker_ms"].items()}
    ready: list[float] = report["bucket_ready_ms"]
    compute_ms = parts.compute_ms.value
    assert compute_ms is not None
    collectives = {int(size): us for size, us in report["collective_us"].items()}
    backward_ms = min(max(ready), compute_ms)
    return Measured(
        one_worker_ms={size: timing.as_figure() for size, timing in alone.items()},
        two_workers_ms=parts.together.as_figure(),
        two_workers_speedup=ratio(alone[batch_size], parts.together),
        profile=StepProfile(
            forward_backward_ms=backward_ms,
            optimizer_ms=compute_ms - backward_ms,
            bucket_bytes=tuple(report["bucket_bytes"]),
            bucket_ready=tuple(min(at / max(ready), 1.0) for at in ready),
        ),
        skew_ms=parts.skew_ms.value or 0.0,
        link=fit_link(list(collectives), list(collectives.values())),
    )


def _find_seats(device: str) -> "Seats":
    """GPUs of this machine, or cores to share."""
    from stages.rules.points import Seats

    if not device.startswith("cuda"):
        return Seats(os.cpu_count() or 1, are_gpus=False)
    import torch

    return Seats(torch.cuda.device_count(), are_gpus=True)


def _without_measurement(settings: Settings, verdict: ScalingVerdict, reason: str) -> ScalingResult:
    """No figure was had; impossible ends in the record, the rest on one worker."""
    not_run: Figure = unknown(f"no figure: {reason}")
    proposed = Stage.record_decision if verdict is ScalingVerdict.impossible else Stage.train_single
    following, told = route(
        Stage.probe_scaling, verdict, proposed, proposed, settings.product.verdicts_needing_approval
    )
    return ScalingResult(
        stage=Stage.probe_scaling,
        next=following,
        reason=reason + told,
        verdict=verdict,
        compute_ms=not_run,
        exposed_communication_ms=not_run,
        skew_ms=not_run,
        latency_us=not_run,
        bandwidth_mbit_s=not_run,
        points=(),
        num_workers=NUM_PROBED if following is Stage.train_distributed else 1,
        forecast_efficiency=not_run,
    )


def work(request: Path) -> None:
    """In a worker: measure the exchange with the other, then, on the first, one worker alone."""
    import torch.distributed as dist

    from stages.imaging.reading import read_case
    from stages.measuring.exchange import measure_exchange
    from stages.measuring.one_worker import time_one_worker
    from stages.rules.points import samples_by_count
    from stages.training.distributed import joined_team
    from stages.training.failures import failures_told
    from stages.training.order import make_batch
    from stages.training.step import make_step
    from stages.training.trial import prepare_trial

    with failures_told(request.parent):
        settings = load_settings(Stage.probe_scaling)
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
        workload, job = setup.workload, setup.job
        with joined_team(workload, samples, job) as (team, device):
            step = make_step(workload, setup.operators, setup.shape, replace(job, device=device))
            step.network = team.wrap(step)
            places = team.slice_of(job.batch_size)
            share = team.num_workers * len(places) / job.batch_size

            def take_step(index: int) -> None:
                positions = [index * job.batch_size + place for place in places]
                step.run(make_batch(workload, samples, job, positions), share)

            report = measure_exchange(step.network, take_step, device)
            if team.rank == 0:
                alone = make_step(
                    workload, setup.operators, setup.shape, replace(job, device=device)
                )

                def take_part(num_samples: int) -> None:
                    alone.run(make_batch(workload, samples, job, range(num_samples)))

                sizes = samples_by_count(job.batch_size, settings.infrastructure.max_workers)
                report["one_worker_ms"] = time_one_worker(take_part, sizes, device)
                write_text(_answer_of(request), json.dumps(report))
            dist.barrier()


def _answer_of(request: Path) -> Path:
    return request.with_name("answer.json")


def main() -> None:
    if sys.argv[1:2] == [WORKER]:
        work(Path(sys.argv[2]))
    else:
        execute(Stage.probe_scaling, probe_scaling)


if __name__ == "__main__":
    main()
