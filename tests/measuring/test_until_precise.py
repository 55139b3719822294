"""Timing goes on until it is precise enough, whatever it says."""

import random
import time
from collections import Counter
from collections.abc import Mapping

from stages.contract import known, unknown
from stages.measuring import until_precise
from stages.measuring.timing import Timing
from stages.measuring.until_precise import is_within, time_until_precise


def test_a_steady_candidate_is_timed_in_one_block() -> None:
    """Nothing is added where nothing is imprecise."""
    timings = time_until_precise({"a": lambda: None}, 5, "cpu", lambda timings: [])
    assert len(timings["a"].samples_ms) == 5


def test_only_the_imprecise_are_timed_on_until_they_are_precise() -> None:
    """A varying candidate gets whole blocks until its interval is narrow; the others get none."""
    generator, calls = random.Random(0), Counter[str]()

    def vary() -> None:
        calls["varying"] += 1
        time.sleep(generator.choice([0.001, 0.003]))

    def steady() -> None:
        calls["steady"] += 1
        time.sleep(0.001)

    def imprecise(timings: Mapping[str, Timing]) -> list[str]:
        return ["varying"] if len(timings["varying"].samples_ms) < 14 else []

    timings = time_until_precise(
        {"varying": vary, "steady": steady},
        5,
        "cpu",
        imprecise,
        warmed_ms={"varying": 1.0, "steady": 1.0},
    )
    assert len(timings["varying"].samples_ms) == calls["varying"] == 15
    assert len(timings["steady"].samples_ms) == calls["steady"] == 5


def test_what_never_becomes_precise_ends_after_the_last_block() -> None:
    """Noise without end costs a known number of samples."""
    timings = time_until_precise({"a": lambda: None}, 3, "cpu", lambda timings: ["a"])
    assert len(timings["a"].samples_ms) == 3 * until_precise.MOST_BLOCKS


def test_no_block_is_begun_for_which_there_is_no_time() -> None:
    """Without extra time the first block is all."""
    timings = time_until_precise(
        {"a": lambda: None}, 3, "cpu", lambda timings: ["a"], extra_limit_s=-1.0
    )
    assert len(timings["a"].samples_ms) == 3


def test_a_hopeless_candidate_stays_at_its_single_sample() -> None:
    """What was called once, for it takes so long, is not called again."""
    seen: list[int] = []

    def imprecise(timings: Mapping[str, Timing]) -> list[str]:
        seen.append(len(timings["a"].samples_ms))
        return ["a"]

    timings = time_until_precise(
        {"a": lambda: None}, 3, "cpu", imprecise, warmed_ms={"a": 21_000.0}
    )
    assert len(timings["a"].samples_ms) == 1
    assert seen == [1]


def test_an_interval_is_narrow_only_on_both_sides() -> None:
    """The farther end counts, and without an interval nothing is narrow."""
    assert is_within(known(100.0, 95.0, 105.0, 9), 0.05)
    assert not is_within(known(100.0, 99.0, 106.0, 9), 0.05)
    assert not is_within(known(100.0, 94.0, 101.0, 9), 0.05)
    assert not is_within(known(100.0), 0.05)
    assert not is_within(unknown("not measured"), 0.05)
