"""Node B's rules on a bank of scenarios whose right answer is known."""

from typing import Any, Literal

import pytest

from stages.contract import (
    Candidate,
    Figure,
    Implementation,
    Rung,
    Stage,
    SupportVerdict,
    known,
    unknown,
)
from stages.rules.candidates import find_disqualification
from stages.rules.economics import weigh
from stages.rules.gain import ThreePoint, ceiling, forecast_gain
from stages.rules.prices import Prices, Prospect
from stages.rules.support import Context, Evidence, judge_support, propose_next

REST_MS = 100.0
QUIET = known(0.01)
PRICES = Prices(
    currency="EUR",
    are_examples=False,
    horizon_months=24,
    day_rate=900.0,
    build_days=(5.0, 10.0, 20.0),
    upkeep_days_per_year=6.5,
    cases_per_year=50_000.0,
    device_price_per_hour=0.4,
    value_per_month=3000.0,
)


def option(
    name: str, rung: Rung, operator_ms: float | None, spread: float = 0.02, **changes: Any
) -> Candidate:
    """A candidate that is right and may serve, unless changes say otherwise."""
    failure = "took longer than 40 s"
    whole = None if operator_ms is None else operator_ms + REST_MS
    end_to_end = (
        unknown(failure)
        if whole is None
        else known(whole, whole * (1 - spread), whole * (1 + spread), 9)
    )
    values = {
        "name": name,
        "rung": rung,
        "is_right": True,
        "largest_error": known(0.0),
        "is_differentiable": None,
        "is_exportable": True,
        "qualifies": operator_ms is not None,
        "disqualified_because": None if operator_ms is not None else failure,
        "time_ms": unknown(failure) if operator_ms is None else known(operator_ms),
        "end_to_end_ms": end_to_end,
        "p95_ms": end_to_end,
    }
    return Candidate(**(values | changes))


def standard(name: str, operator_ms: float | None, **changes: Any) -> Candidate:
    """A standard composition."""
    return option(name, Rung.standard, operator_ms, **changes)


def compiled(name: str, operator_ms: float | None, **changes: Any) -> Candidate:
    """A compiled composition."""
    return option(name, Rung.compiled, operator_ms, **changes)


def library(name: str, operator_ms: float | None, **changes: Any) -> Candidate:
    """A library."""
    return option(name, Rung.library, operator_ms, **changes)


def evidence(
    *candidates: Candidate,
    target_ms: float | None = 400.0,
    kernel_ms: ThreePoint | None = None,
    value: float | None = 3000.0,
    context: Context = "inference_graph",
    waiting: Figure = QUIET,
) -> Evidence:
    """Figures that follow from the candidates as the stage works them out."""
    kernel = kernel_ms or ThreePoint(10.0, 30.0, 50.0)
    serving = [c.end_to_end_ms for c in candidates if c.qualifies]
    best: Figure = min(serving, key=lambda f: f.value or 0.0) if serving else unknown("none")
    whole = best.value or REST_MS
    prices = PRICES.__class__(**{**vars(PRICES), "value_per_month": value})
    prospect = Prospect(known(whole, best.low, best.high), REST_MS, kernel, target_ms)
    return Evidence(
        context=context,
        candidates=candidates,
        target_ms=unknown("none set") if target_ms is None else known(target_ms),
        ceiling=ceiling(known(1 - REST_MS / whole)),
        forecast_gain=forecast_gain(whole, REST_MS, kernel).as_figure(),
        economics=weigh(prices, prospect),
        measurement_cv=known(0.05),
        waiting=waiting,
    )


UNEXPORTABLE = {"qualifies": False, "is_exportable": False, "disqualified_because": "NumPy"}
TWO_SLOW = (standard("a", 900.0), standard("b", 700.0))

SCENARIOS = {
    "standard meets": (
        evidence(standard("a", 200.0), standard("b", 90.0), compiled("a", 20.0)),
        SupportVerdict.standard,
        (Rung.standard, "b"),
        "190 ms",
    ),
    "standard just meets": (
        evidence(standard("a", 300.0, spread=0.0), standard("b", 900.0)),
        SupportVerdict.standard,
        (Rung.standard, "a"),
        "400 ms",
    ),
    "one standard composition is enough to say yes": (
        evidence(standard("a", 100.0)),
        SupportVerdict.standard,
        (Rung.standard, "a"),
        "200 ms",
    ),
    "compiled meets": (
        evidence(*TWO_SLOW, compiled("b", 14.0), library("l", 5.0)),
        SupportVerdict.compiled,
        (Rung.compiled, "b"),
        "114 ms",
    ),
    "compiled meets where standard straddles": (
        evidence(standard("a", 302.0), standard("b", 900.0), compiled("a", 50.0)),
        SupportVerdict.compiled,
        (Rung.compiled, "a"),
        "150 ms",
    ),
    "the steadier of two compiled forms meets": (
        evidence(*TWO_SLOW, compiled("a", 250.0, spread=0.5), compiled("b", 280.0)),
        SupportVerdict.compiled,
        (Rung.compiled, "b"),
        "380 ms",
    ),
    "library meets": (
        evidence(*TWO_SLOW, compiled("b", 400.0), library("l", 50.0)),
        SupportVerdict.library,
        (Rung.library, "l"),
        "150 ms",
    ),
    "library meets but cannot be exported": (
        evidence(*TWO_SLOW, compiled("b", 374.0), library("l", 50.0, **UNEXPORTABLE)),
        SupportVerdict.build,
        (Rung.compiled, "b"),
        "474 ms",
    ),
    "all miss, a kernel pays": (
        evidence(*TWO_SLOW, compiled("b", 374.0)),
        SupportVerdict.build,
        (Rung.compiled, "b"),
        "3.65",
    ),
    "all miss, one composition only": (
        evidence(standard("a", 900.0), compiled("a", 374.0)),
        SupportVerdict.inconclusive,
        (Rung.compiled, "a"),
        "1 of at least 2",
    ),
    "all miss, the second composition is wrong": (
        evidence(standard("a", 900.0), standard("b", 700.0, is_right=False, qualifies=False)),
        SupportVerdict.inconclusive,
        (Rung.standard, "a"),
        "1 of at least 2",
    ),
    "all miss, the second composition was never measured": (
        evidence(standard("a", 900.0), standard("b", None)),
        SupportVerdict.inconclusive,
        (Rung.standard, "a"),
        "1 of at least 2",
    ),
    "noise hides the answer": (
        evidence(standard("a", 310.0, spread=0.1), standard("b", 900.0)),
        SupportVerdict.inconclusive,
        (Rung.standard, "a"),
        "within the noise",
    ),
    "all miss on a busy machine": (
        evidence(*TWO_SLOW, compiled("b", 374.0), waiting=known(0.6)),
        SupportVerdict.inconclusive,
        (Rung.compiled, "b"),
        "60% of the measuring time",
    ),
    "met even on a busy machine": (
        evidence(standard("a", 200.0), waiting=known(0.6)),
        SupportVerdict.standard,
        (Rung.standard, "a"),
        "300 ms",
    ),
    "nothing may serve": (
        evidence(standard("a", 900.0, **UNEXPORTABLE), standard("b", 700.0, **UNEXPORTABLE)),
        SupportVerdict.inconclusive,
        (Rung.none, "none"),
        "no standard implementation may serve",
    ),
    "the rest alone misses: no kernel helps": (
        evidence(standard("a", 50.0), standard("b", 60.0), target_ms=90.0),
        SupportVerdict.not_worth_it,
        (Rung.standard, "a"),
        "payback probability of 0.00",
    ),
    "the operator is a sliver": (
        evidence(standard("a", 3.0), standard("b", 9.0), target_ms=90.0),
        SupportVerdict.not_worth_it,
        (Rung.standard, "a"),
        "only 1.03 times",
    ),
    "ten days for 5 %, no target missed by it": (
        evidence(
            standard("a", 20.0),
            standard("b", 30.0),
            target_ms=90.0,
            kernel_ms=ThreePoint(10.0, 14.0, 18.0),
        ),
        SupportVerdict.not_worth_it,
        (Rung.standard, "a"),
        "1.05 times",
    ),
    "ten days for 5 % that just meet the target": (
        evidence(
            standard("a", 320.0, spread=0.01),
            standard("b", 900.0),
            kernel_ms=ThreePoint(297.0, 298.0, 299.0),
        ),
        SupportVerdict.be_careful,
        (Rung.standard, "a"),
        "within the error of such forecasts",
    ),
    "worth little": (
        evidence(*TWO_SLOW, compiled("b", 374.0), value=1200.0),
        SupportVerdict.be_careful,
        (Rung.compiled, "b"),
        "short of 1.5",
    ),
    "worth next to nothing": (
        evidence(*TWO_SLOW, compiled("b", 374.0), value=200.0),
        SupportVerdict.not_worth_it,
        (Rung.compiled, "b"),
        "payback probability of 0.0",
    ),
    "nobody valued it": (
        evidence(*TWO_SLOW, compiled("b", 374.0), value=None),
        SupportVerdict.be_careful,
        (Rung.compiled, "b"),
        "if worth at least",
    ),
    "the kernel may or may not meet the target": (
        evidence(*TWO_SLOW, compiled("b", 500.0), kernel_ms=ThreePoint(200.0, 300.0, 400.0)),
        SupportVerdict.be_careful,
        (Rung.compiled, "b"),
        "payback probability of 0.5",
    ),
    "no target: compute saved alone does not pay": (
        evidence(*TWO_SLOW, target_ms=None),
        SupportVerdict.not_worth_it,
        (Rung.standard, "b"),
        "no budget is set",
    ),
    "a training step is held against the median": (
        evidence(
            standard("a", 100.0, p95_ms=known(9000.0)),
            standard("b", 900.0),
            context="training_step",
        ),
        SupportVerdict.standard,
        (Rung.standard, "a"),
        "a step",
    ),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_bank_of_scenarios(name: str) -> None:
    """Each scenario gets its verdict, its implementation, and a reason with the deciding figure."""
    given, verdict, (rung, chosen), said = SCENARIOS[name]
    judgement = judge_support(given)
    assert judgement.verdict is verdict, judgement.reason
    assert judgement.implementation == Implementation(rung=rung, name=chosen)
    assert said in judgement.reason


@pytest.mark.parametrize(
    ("verdict", "claim", "following"),
    [
        (SupportVerdict.build, "latency", Stage.build_operator),
        (SupportVerdict.standard, "latency", Stage.probe_budget),
        (SupportVerdict.be_careful, "latency", Stage.probe_budget),
        (SupportVerdict.inconclusive, "latency", Stage.probe_budget),
        (SupportVerdict.standard, "accuracy", Stage.pilot_accuracy),
        (SupportVerdict.build, "accuracy", Stage.pilot_accuracy),
        (SupportVerdict.not_worth_it, "accuracy", Stage.pilot_accuracy),
        (SupportVerdict.inconclusive, "accuracy", Stage.probe_budget),
    ],
)
def test_routes(
    verdict: SupportVerdict, claim: Literal["latency", "accuracy"], following: Stage
) -> None:
    """Only "build" builds; a claimed accuracy is piloted unless nothing is certain."""
    assert propose_next(verdict, claim) is following


SERVING: dict[str, Any] = {
    "rung": Rung.library,
    "context": "inference_graph",
    "deployment": "exported_graph",
    "is_right": True,
    "is_differentiable": None,
    "is_exportable": True,
    "time_ms": known(1.0),
    "detail": "why",
}


@pytest.mark.parametrize(
    ("changes", "because"),
    [
        ({}, None),
        ({"is_right": False}, "wrong: why"),
        ({"is_right": None}, "not proven right: why"),
        ({"is_exportable": False}, "a library outside torch cannot be part of an exported graph"),
        ({"is_exportable": False, "deployment": "python"}, None),
        ({"is_exportable": False, "context": "training_step"}, None),
        ({"is_differentiable": False, "context": "training_step"}, "no gradient reaches"),
        ({"is_differentiable": False}, None),
        ({"time_ms": unknown("no memory")}, "not measured: no memory"),
    ],
)
def test_disqualification(changes: dict[str, Any], because: str | None) -> None:
    """What may serve depends on context and deployment; the reason says why not."""
    found = find_disqualification(**(SERVING | changes))
    assert found == because if because is None else because in str(found)
