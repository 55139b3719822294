"""How long one worker takes that has the machine to itself, by its part of the batch."""

import os
from collections.abc import Callable, Sequence
from functools import partial

import torch

from stages.measuring.timing import time_interleaved

NUM_REPEATS = 9
LONGEST_S = 20.0
"""Time for the repeats of one size."""


def time_one_worker(
    take_part: Callable[[int], object], sizes: Sequence[int], device: str
) -> dict[int, tuple[float, ...]]:
    """Times in ms by size; `take_part` trains on so many samples.

    With all cores, or with as many threads as this process has now, whichever is faster: several
    workers must not look good because the threads of one get into each other's way.
    """
    options = {torch.get_num_threads(), os.cpu_count() or 1}

    def take_with(num_threads: int, size: int) -> None:
        torch.set_num_threads(num_threads)
        take_part(size)

    calls = {f"{n} {size}": partial(take_with, n, size) for n in options for size in sizes}
    timings = time_interleaved(calls, NUM_REPEATS, device, LONGEST_S)
    fastest = {}
    for size in sizes:
        timing = min((timings[f"{n} {size}"] for n in options), key=lambda found: found.median_ms)
        fastest[size] = timing.samples_ms
    return fastest
