"""Reading outside of the arguments, or writing to them: each borders on memory that may not be
touched, and is read-only itself."""

from functools import partial

import torch

from stages.numerics.checks.samples import sample
from stages.numerics.comparison import compare, map_tensors
from stages.numerics.guarded import guard
from stages.numerics.probe import Probe
from stages.numerics.trial import Check, Seen, Target


def _test_bounds(target: Target, probe: Probe) -> Seen:
    """Dies of SIGSEGV where an element past the end, or before the beginning, is read; or where an
    argument is written to, be it restored or not."""
    expected = target.answer(probe)
    for at_end in (True, False):
        args, kwargs = map_tensors(partial(guard, at_end=at_end), probe.plain())
        with torch.no_grad():
            result = target.call(*args, **kwargs)
        found = compare(result, expected, target.promise.tolerance(probe))
        if not found.is_within:
            return Seen(f"with its arguments at the edge of a page: {found.detail}")
    return Seen()


BOUNDS = Check(
    "bounds",
    "nothing is read before or behind the arguments, and nothing written to them",
    lambda target: [
        *sample(target.promise.probes, 120, least=1, most=20_000),
        *sample(target.promise.stress, 4),
    ],
    _test_bounds,
    lambda target: None if target.device == "cpu" else f"its memory is on {target.device}",
    death="where arguments can only be read, and nothing lies before or behind them",
)
