"""Time candidates fairly: interleaved in one process, in random order, warm-up dropped."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch

from stages.contract import Figure, known
from stages.measuring.bootstrap import interval, resample_medians

LEAST_REPEATS = 3
"""Fewer samples give no interval worth the name."""
ONCE_ABOVE_S = 20.0
"""A candidate that takes longer than this is out of every race here: its first call is its only
sample."""
MOST_WARM_UPS = 3
STEADY_WITHIN = 0.15
"""Warm-up ends when two calls in a row differ by less than this fraction."""


@dataclass(frozen=True)
class Timing:
    """The samples of one candidate, in the order in which they were taken."""

    samples_ms: tuple[float, ...]

    @property
    def median_ms(self) -> float:
        """Median."""
        return float(np.median(self.samples_ms))

    @property
    def p95_ms(self) -> float:
        """95th percentile, linear between samples."""
        return float(np.percentile(self.samples_ms, 95))

    @property
    def cv(self) -> float | None:
        """Standard deviation over mean; None for a single sample."""
        if len(self.samples_ms) < 2:
            return None
        return float(np.std(self.samples_ms, ddof=1) / np.mean(self.samples_ms))

    def followed_by(self, later: "Timing") -> "Timing":
        """With the samples of a later round after these."""
        return Timing(self.samples_ms + later.samples_ms)

    def as_figure(self) -> Figure:
        """The median with its bootstrap 95 % interval; no interval for a single sample."""
        if len(self.samples_ms) < 2:
            return known(self.median_ms, num_samples=1)
        low, high = interval(resample_medians(self.samples_ms))
        return known(self.median_ms, low, high, len(self.samples_ms))


def time_interleaved(
    candidates: Mapping[str, Callable[[], object]],
    repeats: int,
    device: str,
    time_limit_s: float | None = None,
    seed: int = 0,
    warmed_ms: Mapping[str, float] | None = None,
) -> dict[str, Timing]:
    """Time each candidate `repeats` times, round by round, each round in another random order.

    Results are released before the clock starts again. With `time_limit_s`, a candidate for which
    all repeats would take longer gets fewer, spread over the rounds, but at least 3; one that takes
    more than `ONCE_ABOVE_S` a call is measured once, by its first call. On CUDA the device's events
    are read. A candidate in `warmed_ms` has just been called, and took that long: it is not warmed
    up again.

    Raises:
        ValueError: no candidate, or fewer than 3 repeats.
    """
    if not candidates or repeats < LEAST_REPEATS:
        raise ValueError(
            f"expected candidates and at least {LEAST_REPEATS} repeats, "
            f"got {len(candidates)} and {repeats}"
        )
    stopwatch = _time_on_cuda if device.startswith("cuda") else _time_on_cpu
    samples: dict[str, list[float]] = {name: [] for name in candidates}
    rounds: dict[str, frozenset[int]] = {}
    for name, call in candidates.items():
        warmed = (warmed_ms or {}).get(name)
        once_ms = _warm_up(call, stopwatch) if warmed is None else warmed
        if once_ms > ONCE_ABOVE_S * 1e3:
            samples[name].append(once_ms)
            rounds[name] = frozenset()
        else:
            rounds[name] = _spread(_affordable(once_ms, repeats, time_limit_s), repeats)
    rng = np.random.default_rng(seed)
    for turn in range(repeats):
        due = [name for name in candidates if turn in rounds[name]]
        for index in rng.permutation(len(due)):
            samples[due[index]].append(stopwatch(candidates[due[index]]))
    return {name: Timing(tuple(taken)) for name, taken in samples.items()}


def _warm_up(
    call: Callable[[], object], stopwatch: Callable[[Callable[[], object]], float]
) -> float:
    """Call until two times in a row agree; the last time, in ms."""
    last_ms = stopwatch(call)
    for _ in range(MOST_WARM_UPS - 1):
        if last_ms > ONCE_ABOVE_S * 1e3:
            break
        this_ms = stopwatch(call)
        is_steady = abs(this_ms - last_ms) <= STEADY_WITHIN * this_ms
        last_ms = this_ms
        if is_steady or this_ms > 1e3:  # what takes seconds does not warm up further
            break
    return last_ms


def _affordable(once_ms: float, repeats: int, time_limit_s: float | None) -> int:
    if time_limit_s is None:
        return repeats
    return min(repeats, max(LEAST_REPEATS, int(time_limit_s * 1e3 / max(once_ms, 1e-6))))


def _spread(count: int, repeats: int) -> frozenset[int]:
    """`count` of the rounds, evenly spread, so that slow and fast candidates see the same
    machine."""
    return frozenset(int(turn) for turn in np.linspace(0, repeats - 1, count).round())


def _time_on_cpu(call: Callable[[], object]) -> float:
    started = time.perf_counter_ns()
    result = call()
    elapsed_ms = (time.perf_counter_ns() - started) / 1e6
    del result
    return elapsed_ms


def _time_on_cuda(call: Callable[[], object]) -> float:
    start = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
    end = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
    torch.cuda.synchronize()
    start.record()
    result = call()
    end.record()
    torch.cuda.synchronize()
    elapsed_ms = float(start.elapsed_time(end))
    del result
    return elapsed_ms
