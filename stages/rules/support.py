"""Node B: are standard operators enough, and if not, is a kernel worth it?

Pure: measured figures in, verdict and reason out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from stages.contract import (
    Candidate,
    Economics,
    Figure,
    Implementation,
    Rung,
    Stage,
    SupportVerdict,
)
from stages.rules.contention import is_too_busy

LEAST_COMPOSITIONS = 2
"""Independent standard compositions that must be right and measured before they may be called
not enough: one slow attempt proves that the attempt is slow."""
LEAST_CEILING = 1.05
"""Below this even an operator that costs nothing would gain less than a rerun varies."""
LEAST_GAIN = 1.10
"""Below this a forecast gain is no larger than what forecasts are wrong by: ten days for 5 % is
"be careful" whatever the arithmetic says."""
BUILD_PROBABILITY, BUILD_RATIO = 0.80, 1.5
"""Both are asked for: likely to pay, and clearly, since estimates of days are optimistic."""
REFUSE_PROBABILITY, REFUSE_RATIO = 0.20, 0.5
"""Either is enough to say no: most likely a loss, or half of the money gone."""

_ANEW = "by `breakeven run --fresh`, since the cache keeps this result"
_LADDER = (Rung.standard, Rung.compiled, Rung.library)
_VERDICTS = {
    Rung.standard: SupportVerdict.standard,
    Rung.compiled: SupportVerdict.compiled,
    Rung.library: SupportVerdict.library,
}
Context = Literal["inference_graph", "training_step"]


@dataclass(frozen=True)
class Evidence:
    """What was measured and forecast; candidates of every rung but the custom one."""

    context: Context
    candidates: Sequence[Candidate]
    target_ms: Figure
    ceiling: Figure
    forecast_gain: Figure
    economics: Economics
    measurement_cv: Figure
    waiting: Figure
    """Share of the measuring time in which other processes held the processor."""


@dataclass(frozen=True)
class Judgement:
    """The verdict and what follows from it."""

    verdict: SupportVerdict
    reason: str
    implementation: Implementation
    """What to carry on with as long as there is no kernel."""


def judge_support(evidence: Evidence) -> Judgement:
    """Standard if it meets the target, then compiled, then a library, and only then ask about a
    kernel."""
    best = best_standard(evidence.candidates)
    carried = implementation_of(best)
    for rung in _LADDER:
        meeting = [c for c in evidence.candidates if _relation(c, evidence) == "meets"]
        candidate = best_standard([c for c in meeting if c.rung is rung])
        if candidate is not None:
            return Judgement(
                _VERDICTS[rung], _say_enough(candidate, evidence), implementation_of(candidate)
            )
    verdict, reason = _judge_kernel(best, evidence)
    return Judgement(verdict, reason, carried)


def best_standard(candidates: Sequence[Candidate]) -> Candidate | None:
    """The qualifying candidate with the least end-to-end time; the first of equals, None if
    none."""
    measured = [
        (c.end_to_end_ms.value, index, c)
        for index, c in enumerate(candidates)
        if c.qualifies and c.end_to_end_ms.value is not None
    ]
    return min(measured)[2] if measured else None


def implementation_of(candidate: Candidate | None) -> Implementation:
    """What to carry on with; the workload's own way where no candidate may serve."""
    if candidate is None:
        return Implementation(rung=Rung.none, name="none")
    return Implementation(rung=candidate.rung, name=candidate.name)


def compared_with_target(candidate: Candidate, context: Context) -> Figure:
    """A case is promised its 95th percentile; a training job lasts as long as its typical steps."""
    return candidate.p95_ms if context == "inference_graph" else candidate.end_to_end_ms


def propose_next(verdict: SupportVerdict, claim: Literal["latency", "accuracy"]) -> Stage:
    """Where a verdict leads. A claimed accuracy is tried out first, unless nothing is certain
    yet."""
    if claim == "accuracy":
        is_open = verdict is SupportVerdict.inconclusive
        return Stage.probe_budget if is_open else Stage.pilot_accuracy
    return Stage.build_operator if verdict is SupportVerdict.build else Stage.probe_budget


def _judge_kernel(best: Candidate | None, evidence: Evidence) -> tuple[SupportVerdict, str]:
    """No standard form meets the target for certain."""
    proven = [
        c
        for c in evidence.candidates
        if c.rung is Rung.standard and c.is_right and c.time_ms.is_known
    ]
    straddling = [
        c for c in evidence.candidates if c.qualifies and _relation(c, evidence) == "straddles"
    ]
    if is_too_busy(evidence.waiting):
        return SupportVerdict.inconclusive, (
            "Cannot tell yet: other processes held the processor for "
            f"{evidence.waiting.value or 0:.0%} of the measuring time, so a budget of "
            f"{_ms(evidence.target_ms)} that is missed may be missed because of "
            f"them; measure again on a quiet machine, {_ANEW}."
        )
    if straddling:
        candidate = best_standard(straddling) or straddling[0]
        cv = evidence.measurement_cv
        noise = f" (variation {cv.value:.0%})" if cv.value is not None else ""
        return SupportVerdict.inconclusive, (
            f"Cannot tell yet: {_name(candidate)} takes {_range(candidate, evidence)} "
            f"against a budget of {_ms(evidence.target_ms)}, which lies within the noise of this "
            f"machine{noise}; measure again on a quiet one, {_ANEW}, or with more "
            f"algorithm.timing_repeats."
        )
    if len(proven) < LEAST_COMPOSITIONS:
        return SupportVerdict.inconclusive, (
            f"Cannot tell yet: {len(proven)} of at least {LEAST_COMPOSITIONS} independent standard "
            f"compositions were right and measured: standard operators are not proven insufficient."
        )
    if best is None:
        return SupportVerdict.inconclusive, (
            "Cannot tell yet: no standard implementation may serve here, so there is nothing to "
            "compare a kernel with."
        )
    return _weigh(best, evidence)


def _weigh(best: Candidate, evidence: Evidence) -> tuple[SupportVerdict, str]:
    """Standard operators are proven insufficient: is a kernel worth its days?"""
    missed = (
        f"{_name(best)}, the best that may serve, takes {_range(best, evidence)} against a "
        f"budget of {_ms(evidence.target_ms)}"
        if evidence.target_ms.is_known
        else f"{_name(best)} is the best that may serve, and no budget is set"
    )
    ceiling, gain, economics = evidence.ceiling, evidence.forecast_gain, evidence.economics
    if ceiling.value is not None and ceiling.value < LEAST_CEILING:
        return SupportVerdict.not_worth_it, (
            f"Not worth it: {missed}, but an operator that costs nothing would make the whole only "
            f"{ceiling.value:.2f} times as fast."
        )
    if gain.value is None:
        return SupportVerdict.inconclusive, (
            f"Cannot tell yet: {missed}, and a kernel's gain cannot be forecast ({gain.reason})."
        )
    forecast = f"a kernel is forecast to make the whole {gain.value:.2f} times as fast"
    if ceiling.value is not None:
        forecast += f" (ceiling {ceiling.value:.2f})"
    ratio, probability = economics.benefit_cost_ratio.value, economics.payback_probability.value
    if ratio is None or probability is None:
        return SupportVerdict.be_careful, (
            f"Be careful: {missed}; {forecast}, but nobody has valued it. {economics.sentence}"
        )
    worth = f"benefit over cost is {ratio:.2f}, with a payback probability of {probability:.2f}"
    if probability <= REFUSE_PROBABILITY or ratio <= REFUSE_RATIO:
        return SupportVerdict.not_worth_it, f"Not worth it: {missed}; {forecast}, but {worth}."
    if gain.value < LEAST_GAIN:
        return SupportVerdict.be_careful, (
            f"Be careful: {missed}; {forecast}, which is within the error of such "
            f"forecasts; {worth}."
        )
    if probability >= BUILD_PROBABILITY and ratio >= BUILD_RATIO:
        return SupportVerdict.build, f"Build: {missed}; {forecast}, and {worth}."
    return SupportVerdict.be_careful, (
        f"Be careful: {missed}; {forecast}, but {worth}, short of {BUILD_RATIO:g} and "
        f"{BUILD_PROBABILITY:.2f}."
    )


def _relation(
    candidate: Candidate, evidence: Evidence
) -> Literal["meets", "misses", "straddles", "unknown"]:
    """The whole interval counts; a single sample, without one, counts as it is."""
    figure, target = compared_with_target(candidate, evidence.context), evidence.target_ms.value
    if figure.value is None or target is None:
        return "unknown"
    low = figure.value if figure.low is None else figure.low
    high = figure.value if figure.high is None else figure.high
    if high <= target:
        return "meets"
    return "misses" if low > target else "straddles"


def _say_enough(candidate: Candidate, evidence: Evidence) -> str:
    return (
        f"Enough: {_name(candidate)} takes {_range(candidate, evidence)} end to end, within "
        f"the budget of {_ms(evidence.target_ms)}; no kernel is needed."
    )


def _name(candidate: Candidate) -> str:
    kind = {
        Rung.standard: "the standard composition",
        Rung.compiled: "the compiled composition",
        Rung.library: "the library",
    }[candidate.rung]
    return f"{kind} {candidate.name}"


def _range(candidate: Candidate, evidence: Evidence) -> str:
    figure = compared_with_target(candidate, evidence.context)
    what = " at the 95th percentile" if evidence.context == "inference_graph" else " a step"
    if figure.low is None or figure.high is None:
        return f"{_ms(figure)}{what}"
    return f"{_ms(figure)} ({figure.low:,.3g} to {figure.high:,.3g}){what}"


def _ms(figure: Figure) -> str:
    return "an unknown time" if figure.value is None else f"{figure.value:,.4g} ms"
