"""Time the rest of the job, and every implementation that could be called, interleaved."""

import math
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass

from stages.contract import Figure
from stages.evidence.entrant import Entrant
from stages.evidence.scene import Scene
from stages.evidence.yardstick import Yardstick
from stages.measuring.contention import Contention
from stages.measuring.ratios import total, total_p95
from stages.measuring.timing import Timing
from stages.measuring.until_precise import is_within, time_until_precise

REST = "rest"
"""Key of the job without the operator among the runs."""
CANDIDATE_LIMIT_S = 10.0
"""Time for the repeats of one candidate; slow ones get fewer."""
HOPELESS_FACTOR, HOPELESS_ABOVE_MS = 10.0, 2000.0
"""What takes seconds, and this many times as long as the quickest, is measured once: by its
first call."""

CONTENDER_FACTOR = 1.5
"""What takes up to this many times as long as the quickest, end to end, may win or set the
baseline: it is timed until its figures are precise."""
PRECISE_WITHIN = 0.10
"""Fraction of its value to which what a contender promises, end to end, is wanted."""


@dataclass(frozen=True)
class Race:
    """What took how long on the same machine at the same time."""

    rest: Timing
    """The job, as deployed, without the operator."""
    timings: Mapping[str, Timing]
    """The operator alone in one job, by the key of its implementation; only of those that could
    be called."""
    waiting: Figure
    """Share of the time, 0..1, in which other processes held the processor."""


def race(entrants: Sequence[Entrant], scene: Scene, yardstick: Yardstick, repeats: int) -> Race:
    """Let everything that could be called run against the rest of the job."""
    with Contention() as contention:
        timings = _time(entrants, scene, yardstick, repeats)
    rest = timings.pop(REST)
    return Race(rest, timings, contention.waiting)


def _time(
    entrants: Sequence[Entrant], scene: Scene, yardstick: Yardstick, repeats: int
) -> dict[str, Timing]:
    runs = {REST: scene.prepare_rest(yardstick.operator.spec.name, yardstick.calls)}
    called = {e.key: e.attempt for e in entrants if e.attempt.run is not None}
    quickest_ms = min((tried.first_ms for tried in called.values()), default=0.0)
    hopeless = {
        key: Timing((tried.first_ms,))
        for key, tried in called.items()
        if tried.first_ms > max(HOPELESS_FACTOR * quickest_ms, HOPELESS_ABOVE_MS)
    }
    warmed = {key: tried.first_ms for key, tried in called.items() if key not in hopeless}
    runs |= {key: tried.run for key, tried in called.items() if key in warmed and tried.run}
    promised = total_p95 if scene.context == "inference_graph" else total
    right = {e.key for e in entrants if e.standing.is_right}
    timings = time_until_precise(
        runs,
        repeats,
        yardstick.device,
        lambda timings: _imprecise(timings, right, promised),
        CANDIDATE_LIMIT_S,
        warmed_ms=warmed,
    )
    return timings | hopeless


def _imprecise(
    timings: Mapping[str, Timing], right: Set[str], promised: Callable[..., Figure]
) -> list[str]:
    """The contenders whose promised figure is wide, and the rest, which is a part of it."""
    rest = timings[REST]
    whole_ms = {key: rest.median_ms + timings[key].median_ms for key in right & timings.keys()}
    limit_ms = CONTENDER_FACTOR * min(whole_ms.values(), default=0.0)
    wide = [
        key
        for key in timings
        if whole_ms.get(key, math.inf) <= limit_ms
        and not is_within(promised(rest, timings[key]), PRECISE_WITHIN)
    ]
    return [REST, *wide] if wide else []
