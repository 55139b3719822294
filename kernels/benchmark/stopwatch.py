"""One sample: CPU time of the process and wall time of a call, in ms."""

import time
from collections.abc import Callable
from dataclasses import dataclass

LEAST_SAMPLE_NS = 2_000_000
"""Shorter calls are repeated within a sample, so that the clocks' own cost does not show."""


@dataclass(frozen=True)
class Sample:
    """Of one call; the mean where a sample holds several."""

    cpu_ms: float
    """User and system time of all threads of this process: page faults count, waiting does not."""
    wall_ms: float


def take_sample(call: Callable[[], object], num_calls: int = 1) -> Sample:
    """Time a call; the release of the last result is not timed."""
    wall, cpu = time.perf_counter_ns(), time.process_time_ns()
    for _ in range(num_calls):
        result = call()
    cpu, wall = time.process_time_ns() - cpu, time.perf_counter_ns() - wall
    del result
    return Sample(cpu / 1e6 / num_calls, wall / 1e6 / num_calls)


def num_calls_of(sample: Sample) -> int:
    """How many calls of what took this long make a sample long enough."""
    return max(1, round(LEAST_SAMPLE_NS / 1e6 / max(sample.wall_ms, 1e-3)))
