"""G: from what two workers measured to a verdict, where it leads, and on how many workers."""

from dataclasses import dataclass

from stages.contract import (
    Figure,
    ScalingPoint,
    ScalingResult,
    ScalingVerdict,
    Settings,
    Stage,
    route,
    unknown,
)
from stages.rules.points import Job, Measured, Seats, make_points
from stages.rules.ring import link_of
from stages.rules.scaling import HERE, ScalingBudget, judge_scaling, largest_speedup

FEWEST = 2
"""Workers of the smallest team, and of the one that is measured."""


@dataclass(frozen=True)
class Distribution:
    """The verdict with its way on; the meanings are those of `ScalingResult`."""

    verdict: ScalingVerdict
    next: Stage
    reason: str
    points: tuple[ScalingPoint, ...]
    num_workers: int
    forecast_efficiency: Figure


def find_obstacle(max_workers: int, batch_size: int, seats: Seats) -> str | None:
    """Why two workers cannot even be tried here; None when they can."""
    if max_workers < FEWEST:
        return "One worker is all that infrastructure.max_workers allows."
    if batch_size < FEWEST:
        return f"A global batch of {batch_size} cannot be split over two workers."
    if seats.are_gpus and seats.count < FEWEST:
        return f"This machine has {seats.count} GPU: two workers need two."
    return None


def decide_distribution(
    measured: Measured, seats: Seats, settings: Settings, currency: str
) -> Distribution:
    """Forecast every number of workers, judge them against the budgets, and heed an approval."""
    product, infrastructure, training = settings.product, settings.infrastructure, settings.training
    network = link_of(
        infrastructure.network.bandwidth_mbit_s,
        infrastructure.network.latency_us,
        measured.link.latency_us,
    )
    job = Job(training.num_steps, training.batch_size, infrastructure.device_price_per_hour)
    points = make_points(measured, job, infrastructure.max_workers, seats, network)
    judgement = judge_scaling(
        points,
        ScalingBudget(
            product.training_hours_budget,
            product.compute_budget,
            currency,
            infrastructure.cluster_fixed_cost,
        ),
    )
    following, told = route(
        Stage.probe_scaling,
        judgement.verdict,
        judgement.next,
        Stage.train_single,
        product.verdicts_needing_approval,
    )
    num_workers = judgement.num_workers if following is Stage.train_distributed else 1
    if following is Stage.train_distributed and num_workers == 1:  # approved against the verdict
        best = largest_speedup(points, HERE)
        num_workers = best.num_workers if best else FEWEST
    at = next((p for p in points if p.num_workers == max(num_workers, FEWEST)), points[0])
    return Distribution(
        verdict=judgement.verdict,
        next=following,
        reason=judgement.reason + told,
        points=points,
        num_workers=num_workers,
        forecast_efficiency=at.efficiency,
    )


def decide_unmeasured(verdict: ScalingVerdict, reason: str, settings: Settings) -> ScalingResult:
    """No figure was had; impossible ends in the record, the rest on one worker."""
    not_run = unknown(f"no figure: {reason}")
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
        num_workers=FEWEST if following is Stage.train_distributed else 1,
        forecast_efficiency=not_run,
    )
