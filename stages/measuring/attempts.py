"""Try an implementation at the real job's size before it enters the race."""

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from stages.measuring.capture import Call
from stages.measuring.time_limit import TookTooLong, within

ATTEMPT_LIMIT_S = 40.0
"""What takes longer than this for one job is no candidate on any budget that is set here."""
COMPILE_LIMIT_S = 60.0


@dataclass(frozen=True)
class Attempt:
    """One implementation, called once with all of the job's inputs."""

    run: Callable[[], object] | None
    """Does the operator's part of one job; None when that failed."""
    results: tuple[Any, ...]
    """What it returned, call by call: gradients where the job asks for them."""
    first_ms: float
    failure: str | None


def attempt(
    implementations: Sequence[Callable[..., Any]],
    calls: Sequence[Call],
    time_limit_s: float = ATTEMPT_LIMIT_S,
) -> Attempt:
    """Call once, with one implementation for each of the job's calls."""

    def run() -> tuple[Any, ...]:
        return tuple(
            call.repeat(implementation)
            for call, implementation in zip(calls, implementations, strict=True)
        )

    started = time.perf_counter()
    try:
        with within(time_limit_s), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of foreign code and of the compiler's own internals
            results = run()
    except TookTooLong as late:
        return Attempt(None, (), (time.perf_counter() - started) * 1e3, str(late))
    except Exception as error:  # a foreign implementation, a compiler, no memory: each is a finding
        text = " ".join(str(error).split())[:200]
        failure = f"{type(error).__name__}: {text}"
        return Attempt(None, (), (time.perf_counter() - started) * 1e3, failure)
    return Attempt(run, results, (time.perf_counter() - started) * 1e3, None)


def attempt_compiled(
    composition: Callable[..., Any], calls: Sequence[Call], time_limit_s: float = COMPILE_LIMIT_S
) -> tuple[Attempt, float]:
    """Compile for the job's inputs and call; with the seconds that compiling took."""
    import torch
    import torch._inductor.config

    # A pool of compiling processes takes seconds to start, and would disturb what is timed next.
    torch._inductor.config.compile_threads = 1
    torch._dynamo.reset()
    compiled = torch.compile(composition, fullgraph=True, dynamic=False)
    tried = attempt([compiled] * len(calls), calls, time_limit_s)
    if tried.run is None:
        return tried, tried.first_ms / 1e3
    again = attempt([compiled] * len(calls), calls)
    return again, max(tried.first_ms - again.first_ms, 0.0) / 1e3
