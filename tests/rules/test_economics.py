"""Economics of a kernel, on cases that can be worked out by hand."""

import dataclasses

import pytest

from stages.contract import known
from stages.rules.economics import unweighed, weigh
from stages.rules.gain import ThreePoint
from stages.rules.prices import Prices, Prospect

PRICES = Prices(
    currency="EUR",
    are_examples=False,
    horizon_months=24,
    day_rate=1000.0,
    build_days=(10.0, 10.0, 10.0),
    upkeep_days_per_year=0.0,
    cases_per_year=0.0,
    device_price_per_hour=1.0,
    value_per_month=1000.0,
)
MISSED_THEN_MET = Prospect(
    baseline_ms=known(500.0), rest_ms=100.0, kernel_ms=ThreePoint(10, 20, 30), target_ms=400.0
)


def test_value_counts_from_the_end_of_the_build() -> None:
    """Ten days are half a month: 23.5 months at 1000 against a cost of 10 000."""
    economics = weigh(PRICES, MISSED_THEN_MET)
    assert economics.cost.value == pytest.approx(10_000)
    assert economics.benefit.value == pytest.approx(23_500)
    assert economics.benefit_cost_ratio.value == pytest.approx(2.35)
    assert economics.payback_probability.value == 1.0


def test_break_even_days_pay_exactly() -> None:
    """A build of the break-even length has a benefit over cost of 1."""
    days = weigh(PRICES, MISSED_THEN_MET).break_even_days.value
    assert days is not None
    prices = dataclasses.replace(PRICES, build_days=(days, days, days))
    assert weigh(prices, MISSED_THEN_MET).benefit_cost_ratio.value == pytest.approx(1.0)


@pytest.mark.parametrize("upkeep", [0.0, 8.0])
def test_break_even_value_pays_exactly(upkeep: float) -> None:
    """At the break-even value the likely build has a benefit over cost of 1, upkeep included."""
    prices = dataclasses.replace(PRICES, upkeep_days_per_year=upkeep)
    value = weigh(prices, MISSED_THEN_MET).break_even_value_per_month.value
    assert value is not None
    valued = dataclasses.replace(prices, value_per_month=value)
    assert weigh(valued, MISSED_THEN_MET).benefit_cost_ratio.value == pytest.approx(1.0)


@pytest.mark.parametrize(
    "prospect",
    [
        dataclasses.replace(MISSED_THEN_MET, baseline_ms=known(390.0)),
        dataclasses.replace(MISSED_THEN_MET, target_ms=90.0),
        dataclasses.replace(MISSED_THEN_MET, target_ms=None),
    ],
    ids=["met anyway", "missed anyway", "no target"],
)
def test_value_counts_only_for_a_target_that_is_newly_met(prospect: Prospect) -> None:
    """A target that is met without the kernel, missed with it, or never set brings nothing."""
    economics = weigh(PRICES, prospect)
    assert economics.benefit.value == pytest.approx(0.0)
    assert economics.payback_probability.value == 0.0
    assert not economics.break_even_value_per_month.is_known


def test_compute_saved_is_seconds_times_price() -> None:
    """A million cases a year, 360 ms saved, 1 an hour: 100 a year, from the end of the build."""
    prices = dataclasses.replace(PRICES, cases_per_year=1e6, value_per_month=0.0)
    prospect = Prospect(known(460.0), 90.0, ThreePoint(10, 10, 10), target_ms=None)
    assert weigh(prices, prospect).benefit.value == pytest.approx(100 / 12 * 23.5)


def test_a_target_that_nobody_valued_inverts_the_answer() -> None:
    """Nothing is invented: benefit is unknown, and the sentence says what would have to be true."""
    prices = dataclasses.replace(PRICES, value_per_month=None)
    economics = weigh(prices, MISSED_THEN_MET)
    assert not economics.benefit.is_known
    assert not economics.payback_probability.is_known
    assert economics.break_even_value_per_month.value == pytest.approx(10_000 / 23.5)
    assert economics.sentence == "Pays if worth at least 426 EUR per month."
    saving = dataclasses.replace(prices, cases_per_year=1e9)
    assert "Pays if built in at most" in weigh(saving, MISSED_THEN_MET).sentence


def test_uncertain_forecasts_give_a_probability_between() -> None:
    """Where half of the forecast kernels meet the target, about half of the value counts."""
    prospect = dataclasses.replace(
        MISSED_THEN_MET, kernel_ms=ThreePoint(100, 300, 500), target_ms=400.0
    )
    probability = weigh(PRICES, prospect).payback_probability.value
    assert probability == pytest.approx(0.5, abs=0.02)


def test_cost_has_the_spread_of_the_days() -> None:
    """The interval of the cost lies within the three-point estimate, and the answer is
    repeatable."""
    prices = dataclasses.replace(PRICES, build_days=(5.0, 10.0, 20.0))
    economics = weigh(prices, MISSED_THEN_MET)
    cost = economics.cost
    assert cost.value is not None
    assert cost.low is not None
    assert cost.high is not None
    assert 5_000 < cost.low < cost.value < cost.high < 20_000
    assert weigh(prices, MISSED_THEN_MET) == economics


def test_upkeep_above_value_never_pays() -> None:
    """Where upkeep eats the value, no build is short enough, and that is said."""
    prices = dataclasses.replace(PRICES, upkeep_days_per_year=24.0)
    economics = weigh(prices, MISSED_THEN_MET)
    assert economics.payback_probability.value == 0.0
    assert economics.break_even_days.reason is not None
    assert "upkeep" in economics.break_even_days.reason


def test_unweighed_says_why() -> None:
    """Without a forecast every figure is unknown with the reason."""
    economics = unweighed(PRICES, "no floor")
    assert economics.cost.reason == "no floor"
    assert economics.sentence == "Not weighed: no floor."
