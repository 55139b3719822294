"""G: does distribution pay: memory on paper first, then two real workers, then a forecast for more."""

import json
import sys
from dataclasses import replace
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
    derive_data_shape,
    execute,
    known,
    load_settings,
    load_workload,
    open_chosen,
    operators_for,
    read,
    read_manifest,
    route,
    unknown,
    write_text,
)

if TYPE_CHECKING:
    from stages.rules.points import Measured
    from stages.rules.scaling import ScalingJudgement

GIB = 2**30
WORKER = "--worker"
NUM_PROBED = 2
LAUNCH_LIMIT_S = 900.0
LONGEST_ALONE_S = 20.0


def probe_scaling(settings: Settings) -> ScalingResult:
    """Judge distribution of a job that is over the budget of one worker."""
    from stages.rules.scaling import judge_scaling
    from stages.training.launch import LaunchError

    budget = read(Stage.probe_budget, BudgetResult)
    reason = _fits_nowhere(settings, budget)
    if reason is not None:
        return _without_measurement(settings, ScalingVerdict.impossible, reason)
    reason = _cannot_be_tried(settings)
    if reason is not None:
        return _without_measurement(settings, ScalingVerdict.refuse, reason)
    try:
        report = _run_workers(settings, budget)
    except LaunchError as error:
        return _without_measurement(settings, ScalingVerdict.inconclusive, str(error))
    return _judge(settings, report, judge_scaling)


def _fits_nowhere(settings: Settings, budget: BudgetResult) -> str | None:
    """Why no process should be started at all; None when the job fits one worker."""
    from stages.rules.sharding import MemoryNeed, fewest_workers

    peak = budget.measured_memory_bytes.value or budget.forecast_memory_bytes.value
    state = budget.state_bytes.value
    if budget.fits_memory is not False:
        return None
    size = f"{budget.memory_budget_bytes / GIB:.3g} GiB"
    most = settings.infrastructure.max_workers
    if peak is None or state is None:
        return f"no micro batch of the job fits a device of {size}: {budget.measured_memory_bytes.reason}"
    need = MemoryNeed(state, max(peak - state, 0.0))
    fewest = fewest_workers(need, budget.memory_budget_bytes, most)
    told = (
        f"the smallest micro batch takes {peak / GIB:.3g} GiB on one device of {size}, "
        f"and {need.sharded_bytes(most) / GIB:.3g} GiB on each of {most} workers that share the state"
    )
    if fewest is None:
        return f"It fits nowhere that was stated: {told}."
    return (
        f"It fits no worker that holds the whole state: {told}. On {fewest} workers a sharded state "
        f"would fit on paper, but training here keeps it whole on every worker."
    )


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


def _judge(settings: Settings, report: dict[str, Any], judge: Any) -> ScalingResult:
    from stages.measuring.decomposition import decompose
    from stages.rules.points import Job, make_points
    from stages.rules.ring import link_of
    from stages.rules.scaling import HERE, ScalingBudget, largest_speedup

    product, infrastructure, training = settings.product, settings.infrastructure, settings.training
    measured = _interpret(report, training.batch_size)
    parts = decompose(report)
    points = make_points(
        measured,
        Job(training.num_steps, training.batch_size, infrastructure.device_price_per_hour),
        infrastructure.max_workers,
        _num_devices(infrastructure.device),
        link_of(
            infrastructure.network.bandwidth_mbit_s,
            infrastructure.network.latency_us,
            measured.link.latency_us,
        ),
    )
    budget = ScalingBudget(
        product.training_hours_budget,
        product.compute_budget,
        read(Stage.probe_budget, BudgetResult).currency,
        infrastructure.cluster_fixed_cost,
    )
    judgement: ScalingJudgement = judge(points, budget)
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


def _num_devices(device: str) -> int | None:
    """GPUs of this machine; None where workers share the cores."""
    if not device.startswith("cuda"):
        return None
    import torch

    return torch.cuda.device_count()


def _without_measurement(
    settings: Settings, verdict: ScalingVerdict, reason: str
) -> ScalingResult:
    """No figure was had; impossible ends in the record, the rest on one worker."""
    not_run: Figure = unknown(f"no figure: {reason}")
    proposed = (
        Stage.record_decision if verdict is ScalingVerdict.impossible else Stage.train_single
    )
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
