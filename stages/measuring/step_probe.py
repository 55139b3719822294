"""Peak memory and time of real training steps, in this process."""

import time
from collections.abc import Callable

from stages.contract import Figure
from stages.measuring.memory import peak_memory_bytes
from stages.measuring.timing import Timing

NUM_PEAK_STEPS = 2
"""The first step makes the optimizer's state, the second holds it from the start."""
LEAST_STEPS, MOST_STEPS = 5, 20
TIMED_S = 12.0
"""Steps are timed for about this long, between the least and the most number of them."""


def probe_steps(take_step: Callable[[int], object], device: str) -> tuple[Figure, Timing]:
    """Peak of the first steps, and the times of those after them; `take_step` gets an index.

    Besides the least number, no step is begun that would end after the time is up. The first steps
    are the warm-up.
    """

    def first_steps() -> None:
        for index in range(NUM_PEAK_STEPS):
            take_step(index)

    peak = peak_memory_bytes(first_steps, device)
    samples: list[float] = []
    while len(samples) < LEAST_STEPS or (
        len(samples) < MOST_STEPS and sum(samples) + samples[-1] < TIMED_S * 1e3
    ):
        _synchronise(device)
        started = time.perf_counter_ns()
        take_step(NUM_PEAK_STEPS + len(samples))
        _synchronise(device)
        samples.append((time.perf_counter_ns() - started) / 1e6)
    return peak, Timing(tuple(samples))


def _synchronise(device: str) -> None:
    if device.startswith("cuda"):
        import torch

        torch.cuda.synchronize()
