"""Take turns: every round calls every entrant once, in a random order, until ratios are precise.

The end depends on precision and time, never on who wins.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import numpy as np

from kernels.benchmark.interval import LEAST_SAMPLES, Estimate, median_ratio
from kernels.benchmark.stopwatch import Sample, num_calls_of, take_sample
from kernels.benchmark.threads import use_threads

MOST_ROUNDS = 60
CHECKED_EVERY = 5
"""Rounds between two looks at the precision."""
PRECISE_WITHIN = 0.02
"""Half the width of a ratio's interval, relative to the ratio."""
FAR_BEHIND = 25
"""What takes so many times as long as ours may stay without an interval."""
LONG_CALL_S = 0.1
"""What takes this long gains nothing from another call to warm up."""


@dataclass
class Runner:
    """One call under one number of threads, and its samples by round."""

    call: Callable[[], Any]
    num_threads: int
    first_s: float = 0.0
    """CPU time of its first call."""
    num_calls: int = 1
    samples: dict[int, Sample] = field(default_factory=dict)
    spent_s: float = 0.0

    def take_turn(self, turn: int) -> None:
        """Add the sample of this round."""
        began = time.perf_counter()
        self.samples[turn] = take_sample(self.call, self.num_calls)
        self.spent_s += time.perf_counter() - began


def interleave(
    runners: Mapping[Any, Runner], ours: Sequence[Any], limit_s: float, seed: int = 0
) -> None:
    """Fill in the samples of all runners.

    Args:
        runners: by any key; each call has been made once before.
        ours: keys of those that ratios are taken to; they take part in every round.
        limit_s: seconds for ours and for all whose call fits into an equal part of it. A peer drops
            out when it has used up its part, after 5 samples at the earliest; after 3 where a call
            takes long, after 1 where it takes longer than the limit or far longer than ours.
        seed: of the order within the rounds.
    """
    rng = np.random.default_rng(seed)
    part_s = limit_s / max(len(runners), 1)
    quick = {key: one for key, one in runners.items() if key in ours or one.first_s <= part_s}
    for runner in runners.values():
        if runner.first_s < LONG_CALL_S:
            use_threads(runner.num_threads)
            runner.num_calls = num_calls_of(take_sample(runner.call))
    our_s = min((runners[key].first_s for key in ours), default=0.0)
    least = {key: _least_samples(runner, our_s, limit_s) for key, runner in runners.items()}
    for turn in range(MOST_ROUNDS):
        due = [
            runner
            for key, runner in runners.items()
            if key in ours or runner.spent_s < part_s or len(runner.samples) < least[key]
        ]
        for runner in _shuffled(due, rng):
            use_threads(runner.num_threads)
            runner.take_turn(turn)
        if turn + 1 < max(least.values(), default=0):
            continue
        if sum(runner.spent_s for runner in quick.values()) > limit_s:
            break
        if (turn + 1) % CHECKED_EVERY == 0 and _are_precise(quick, ours):
            break


def ratio(numerator: Runner, denominator: Runner) -> Estimate | None:
    """How many times as long the first takes, over the rounds in which both had a turn.

    CPU time where both had one thread, wall time otherwise: what a second thread spends is no loss
    as long as the result comes earlier. None where they never met.
    """
    shared = [turn for turn in numerator.samples if turn in denominator.samples]
    if not shared:
        return None
    is_single = numerator.num_threads == denominator.num_threads == 1
    read = attrgetter("cpu_ms" if is_single else "wall_ms")
    return median_ratio(
        [read(numerator.samples[turn]) for turn in shared],
        [read(denominator.samples[turn]) for turn in shared],
    )


def _least_samples(runner: Runner, our_s: float, limit_s: float) -> int:
    """Enough for an interval, unless that takes long or nobody would ask for it."""
    is_far_behind = runner.first_s > max(FAR_BEHIND * our_s, LONG_CALL_S)
    if runner.first_s > limit_s or is_far_behind:
        return 1
    return LEAST_SAMPLES if runner.first_s > limit_s / 4 else CHECKED_EVERY


def _shuffled(due: Sequence[Runner], rng: np.random.Generator) -> list[Runner]:
    """In random order, those of one number of threads together: to change it costs time."""
    mixed = [due[index] for index in rng.permutation(len(due))]
    counts = [runner.num_threads for runner in mixed]
    return sorted(mixed, key=lambda runner: counts.index(runner.num_threads))


def _are_precise(runners: Mapping[Any, Runner], ours: Sequence[Any]) -> bool:
    estimates = [
        ratio(runner, runners[key])
        for key in ours
        for other, runner in runners.items()
        if other not in ours and runner.num_threads <= runners[key].num_threads
    ]
    return all(one is None or one.is_within(PRECISE_WITHIN) for one in estimates)
