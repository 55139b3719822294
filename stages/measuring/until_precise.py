"""Go on timing until intervals are narrow: the end depends on precision, never on the outcome.

To stop as soon as an interval clears a threshold would favour whichever side noise visits first.
"""

import time
from collections.abc import Callable, Collection, Mapping

from stages.contract import Figure
from stages.measuring.timing import Timing, time_interleaved

MOST_BLOCKS = 8
"""More samples than these hardly narrow an interval further on a machine this noisy."""
EXTRA_LIMIT_S = 60.0

Imprecise = Callable[[Mapping[str, Timing]], Collection[str]]
"""From the timings so far to the candidates that need more samples; none ends the timing."""


def time_until_precise(
    candidates: Mapping[str, Callable[[], object]],
    repeats: int,
    device: str,
    imprecise: Imprecise,
    time_limit_s: float | None = None,
    warmed_ms: Mapping[str, float] | None = None,
    extra_limit_s: float = EXTRA_LIMIT_S,
) -> dict[str, Timing]:
    """One interleaved block of `repeats` for all, then blocks for those that are imprecise.

    Ends with the last of them, after `MOST_BLOCKS` blocks, or before a block that would not fit
    into `extra_limit_s` seconds beyond the first; other arguments as for `time_interleaved`.
    """
    timings = time_interleaved(candidates, repeats, device, time_limit_s, warmed_ms=warmed_ms)
    began, longest_s = time.monotonic(), 0.0
    for block in range(1, MOST_BLOCKS):
        names = [name for name in imprecise(timings) if len(timings[name].samples_ms) > 1]
        block_began = time.monotonic()
        if not names or block_began - began + longest_s > extra_limit_s:
            break
        more = time_interleaved(
            {name: candidates[name] for name in names},
            repeats,
            device,
            time_limit_s,
            seed=block,
            warmed_ms={name: timings[name].median_ms for name in names},
        )
        longest_s = max(longest_s, time.monotonic() - block_began)
        timings |= {name: timings[name].followed_by(more[name]) for name in names}
    return timings


def is_within(figure: Figure, fraction: float) -> bool:
    """Whether the interval reaches no further than this fraction of the value to either side."""
    if figure.value is None or figure.low is None or figure.high is None:
        return False
    return max(figure.high - figure.value, figure.value - figure.low) <= fraction * figure.value
