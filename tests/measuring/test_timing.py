"""Interleaved timing: who is called how often, in which order, and what the samples say."""

import math
import time
from collections import Counter

import pytest

from stages.contract import known, unknown
from stages.measuring import timing as timing_module
from stages.measuring.ratios import (
    is_gain,
    ratio,
    ratio_of_total,
    share,
    total,
    total_cv,
    total_p95,
)
from stages.measuring.timing import Timing, time_interleaved


def test_candidates_are_interleaved_in_changing_order() -> None:
    """After warm-up each round holds every candidate once, and not all rounds have the same
    order."""
    calls: list[str] = []
    names = ("a", "b", "c")
    candidates = {name: (lambda name=name: calls.append(name)) for name in names}
    timings = time_interleaved(candidates, 9, "cpu", warmed_ms=dict.fromkeys(names, 1.0))
    assert {name: len(timing.samples_ms) for name, timing in timings.items()} == dict.fromkeys(
        names, 9
    )
    rounds = [tuple(calls[i : i + 3]) for i in range(0, len(calls), 3)]
    assert all(sorted(turn) == sorted(names) for turn in rounds)
    assert len(set(rounds)) > 1


def test_order_is_a_function_of_the_seed() -> None:
    """The same seed gives the same order, another seed another one."""
    orders = []
    for seed in (1, 1, 2):
        calls: list[str] = []
        candidates = {name: (lambda name=name, calls=calls: calls.append(name)) for name in "abcd"}
        time_interleaved(candidates, 5, "cpu", seed=seed, warmed_ms=dict.fromkeys("abcd", 1.0))
        orders.append(calls)
    assert orders[0] == orders[1]
    assert orders[0] != orders[2]


def test_slow_candidate_gets_fewer_repeats_but_three() -> None:
    """A limit that pays for no repeat leaves three, and does not touch the quick candidate."""
    counts: Counter[str] = Counter()

    def slow() -> None:
        counts["slow"] += 1
        time.sleep(0.02)

    timings = time_interleaved({"slow": slow, "quick": lambda: None}, 8, "cpu", time_limit_s=0.01)
    assert len(timings["slow"].samples_ms) == 3
    assert len(timings["quick"].samples_ms) == 8
    assert counts["slow"] > 3  # the warm-up was dropped


def test_very_slow_candidate_is_called_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above the limit for one call, the first call is the only one and the only sample."""
    monkeypatch.setattr(timing_module, "ONCE_ABOVE_S", 0.01)
    calls = []

    def very_slow() -> None:
        calls.append(1)
        time.sleep(0.02)

    timings = time_interleaved({"slow": very_slow, "quick": lambda: None}, 5, "cpu")
    assert len(calls) == len(timings["slow"].samples_ms) == 1
    assert timings["slow"].cv is None
    assert timings["slow"].as_figure().low is None


def test_refuses_no_candidates_and_too_few_repeats() -> None:
    """Two samples give no interval."""
    with pytest.raises(ValueError, match="at least 3 repeats, got 1 and 2"):
        time_interleaved({"a": lambda: None}, 2, "cpu")
    with pytest.raises(ValueError, match="expected candidates"):
        time_interleaved({}, 9, "cpu")


def test_statistics_of_known_samples() -> None:
    """Median, 95th percentile and variation of 1..5, and an interval around the median."""
    timing = Timing((5.0, 1.0, 3.0, 2.0, 4.0))
    assert timing.median_ms == 3
    assert timing.p95_ms == pytest.approx(4.8)
    assert timing.cv == pytest.approx(math.sqrt(2.5) / 3)
    figure = timing.as_figure()
    assert figure.low is not None
    assert figure.high is not None
    assert 1 <= figure.low <= 3 <= figure.high <= 5
    assert figure.num_samples == 5


def test_gain_needs_an_interval_above_one() -> None:
    """Clearly faster is a gain; faster within the noise, unknown or measured once is not."""
    steady, noisy = Timing((100.0, 101.0, 102.0) * 3), Timing((60.0, 95.0, 180.0) * 3)
    assert is_gain(ratio(steady, Timing((50.0, 50.5, 51.0) * 3)))
    assert not is_gain(ratio(steady, noisy))
    assert not is_gain(ratio(steady, steady))
    assert not is_gain(known(2.0))
    assert not is_gain(unknown("not measured"))


def test_sums_of_constant_parts_are_exact() -> None:
    """Parts that do not vary: their sum, its percentile, share and gain have intervals of no
    width."""
    rest, operator, whole = Timing((100.0,) * 5), Timing((300.0,) * 5), Timing((200.0,) * 5)
    for figure, value in (
        (total(rest, operator), 400.0),
        (total_p95(rest, operator), 400.0),
        (share(operator, rest), 0.75),
        (ratio_of_total(rest, operator, whole), 2.0),
    ):
        assert (figure.value, figure.low, figure.high) == pytest.approx((value,) * 3)
    assert total_cv(rest, operator).value == 0


def test_percentile_of_a_sum_lies_between_its_parts_bounds() -> None:
    """Over independent parts it exceeds the sum of medians and stays below the sum of maxima."""
    rest, operator = Timing(tuple(range(100, 120))), Timing(tuple(range(200, 260, 3)))
    value = total_p95(rest, operator).value
    assert value is not None
    assert rest.median_ms + operator.median_ms < value < 119 + 257
