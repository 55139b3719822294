"""Time the rest of the job, and every implementation that could be called, interleaved."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stages.contract import Figure
from stages.evidence.entrant import Entrant
from stages.evidence.scene import Scene
from stages.evidence.yardstick import Yardstick
from stages.measuring.contention import Contention
from stages.measuring.timing import Timing, time_interleaved

REST = "rest"
"""Key of the job without the operator among the runs."""
CANDIDATE_LIMIT_S = 10.0
"""Time for the repeats of one candidate; slow ones get fewer."""
HOPELESS_FACTOR, HOPELESS_ABOVE_MS = 10.0, 2000.0
"""What takes seconds, and this many times as long as the quickest, is measured once: by its
first call."""


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
    timings = time_interleaved(runs, repeats, yardstick.device, CANDIDATE_LIMIT_S, warmed_ms=warmed)
    return timings | hopeless
