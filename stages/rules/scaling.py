"""G: does distribution pay? Speed-up at equal global batch, against the budget of the job."""

from collections.abc import Sequence
from dataclasses import dataclass

from stages.contract import ScalingPoint, ScalingVerdict, Stage

MARGIN = 0.15
"""Largest error of the forecasts that were held against real networks (see ring.py)."""
HERE = "this machine"
NETWORK = "stated network"


@dataclass(frozen=True)
class ScalingBudget:
    """What the job may take, and what a cluster costs before it computes anything."""

    hours: float
    cost: float
    currency: str
    cluster_fixed_cost: float


@dataclass(frozen=True)
class ScalingJudgement:
    """A verdict, where it leads, on how many workers, and the figure that decided."""

    verdict: ScalingVerdict
    next: Stage
    num_workers: int
    reason: str


def judge_scaling(points: Sequence[ScalingPoint], budget: ScalingBudget) -> ScalingJudgement:
    """Judge a job that fits on one worker; the fewest workers that meet its budgets win.

    Only points on this machine can be chosen: several machines come after one machine has passed,
    and need a launcher for several hosts. Their forecast is told in the reason.
    """
    here = [p for p in points if p.where == HERE and p.num_workers > 1 and p.speedup.is_known]
    network = _tell_network(points, budget)
    if not here:
        return _stay(ScalingVerdict.inconclusive, "Cannot tell: no speed-up could be had", network)
    odd = [point for point in here if not is_believable(point)]
    if odd:
        why = f"{_tell(odd[0])}, which is more than there is to gain: one worker was disturbed"
        return _stay(ScalingVerdict.inconclusive, why, network)
    paying = [point for point in here if pays(point)]
    for point in sorted(paying, key=lambda p: p.num_workers):
        if _is_within(point, budget):
            return ScalingJudgement(
                ScalingVerdict.distribute,
                Stage.train_distributed,
                point.num_workers,
                f"{_tell(point)}: {_tell_job(point, budget)}, within the budgets of "
                f"{budget.hours:.3g} h and {budget.cost:.3g} {budget.currency}.{network}",
            )
    best = max(paying or here, key=lambda point: point.speedup.value or 0.0)
    if paying:
        why = f"{_tell(best)}, yet the job stays over budget: {_tell_job(best, budget)}"
        return _stay(ScalingVerdict.refuse, why, network)
    if (best.speedup.value or 0.0) * (1 + MARGIN) < 1:
        return _stay(ScalingVerdict.refuse, f"Distribution is slower: {_tell(best)}", network)
    why = f"{_tell(best)}: too close to 1 for a forecast that errs by {MARGIN:.0%}"
    return _stay(ScalingVerdict.inconclusive, why, network)


def pays(point: ScalingPoint) -> bool:
    """Whether more workers are faster beyond the forecast's error and the measurement's noise."""
    value, low = point.speedup.value, point.speedup.low
    return value is not None and value >= 1 + MARGIN and (low is None or low > 1)


def is_believable(point: ScalingPoint) -> bool:
    """Whether N workers are no more than N times as fast, within the forecast's error."""
    return (point.speedup.value or 0.0) <= point.num_workers * (1 + MARGIN)


def largest_speedup(points: Sequence[ScalingPoint], where: str) -> ScalingPoint | None:
    """The fastest point with more than one worker; None when no speed-up is known."""
    known = [p for p in points if p.where == where and p.num_workers > 1 and p.speedup.is_known]
    return max(known, key=lambda point: point.speedup.value or 0.0, default=None)


def _is_within(point: ScalingPoint, budget: ScalingBudget) -> bool:
    hours, cost = point.job_hours.value, point.job_cost.value
    return hours is not None and hours <= budget.hours and cost is not None and cost <= budget.cost


def _stay(verdict: ScalingVerdict, why: str, network: str) -> ScalingJudgement:
    return ScalingJudgement(verdict, Stage.train_single, 1, f"{why}; one worker trains.{network}")


def _tell(point: ScalingPoint) -> str:
    how = "measured" if point.is_measured else "forecast"
    return f"{point.num_workers} workers reach a speed-up of {point.speedup.value:.2f} ({how})"


def _tell_job(point: ScalingPoint, budget: ScalingBudget) -> str:
    hours, cost = point.job_hours, point.job_cost
    told_hours = "unknown hours" if hours.value is None else f"{hours.value:.3g} h"
    told_cost = "unknown cost" if cost.value is None else f"{cost.value:.3g} {budget.currency}"
    return f"{told_hours} and {told_cost}"


def _tell_network(points: Sequence[ScalingPoint], budget: ScalingBudget) -> str:
    best = largest_speedup(points, NETWORK)
    if best is None:
        return ""
    if pays(best):
        return (
            f" On the stated network, one machine a worker, {best.num_workers} workers would reach "
            f"{best.speedup.value:.2f} (forecast); that takes a cluster, "
            f"{budget.cluster_fixed_cost:.0f} {budget.currency}, and a launcher for several hosts."
        )
    return (
        f" On the stated network the most is {best.speedup.value:.2f} with {best.num_workers} "
        f"workers (forecast)."
    )
