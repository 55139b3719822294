"""What a packed model takes when it is used: time call after call, and memory."""

from collections.abc import Callable
from typing import Self

from stages.contract import Figure, Frozen, unknown
from stages.measuring.contention import Contention
from stages.measuring.memory import peak_memory_bytes
from stages.measuring.percentile import p95_figure
from stages.measuring.until_precise import is_within, time_until_precise

LATENCY_LIMIT_S = 60.0
REPEATS_FACTOR = 3
"""A 95th percentile needs more calls than a median."""
PRECISE_WITHIN = 0.10
"""Fraction of its value to which the 95th percentile is wanted."""


class Serving(Frozen):
    """Latency of one case, and the peak of opening the model and using it for the first time."""

    median_ms: Figure
    p95_ms: Figure
    peak_bytes: Figure
    waiting: Figure
    """Share of the timing in which other processes held the processor."""

    @classmethod
    def unknown(cls, reason: str) -> Self:
        """Nothing could be measured."""
        nothing = unknown(reason)
        return cls(median_ms=nothing, p95_ms=nothing, peak_bytes=nothing, waiting=nothing)


def measure_serving(
    open_model: Callable[[], Callable[[], object]], repeats: int, device: str
) -> Serving:
    """Open a model and use it, over and over; call this in a process that has done neither.

    `open_model` gives the call that predicts one case.
    """
    opened: list[Callable[[], object]] = []

    def open_and_predict() -> None:
        opened.append(open_model())
        opened[0]()

    peak = peak_memory_bytes(open_and_predict, device)
    calls = {"model": opened[0]}
    with Contention() as contention:
        timing = time_until_precise(
            calls,
            repeats * REPEATS_FACTOR,
            device,
            lambda timings: [
                name for name in timings if not is_within(p95_figure(timings[name]), PRECISE_WITHIN)
            ],
            LATENCY_LIMIT_S,
        )["model"]
    return Serving(
        median_ms=timing.as_figure(),
        p95_ms=p95_figure(timing),
        peak_bytes=peak,
        waiting=contention.waiting,
    )
