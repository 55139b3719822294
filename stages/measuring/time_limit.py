"""End a piece of work in this process that takes too long, such as a compiler that never comes
back."""

import contextlib
import signal
import time
from collections.abc import Iterator
from types import FrameType


class TookTooLong(BaseException):
    """The time limit passed. No `Exception`: what catches those along the way must let it
    through."""


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise `TookTooLong` in the body once the time is up, as soon as the interpreter gets its
    turn.

    Main thread only. Work in one native call is not interrupted; a sequence of them is, in
    between.
    """

    def stop(signal_number: int, frame: FrameType | None) -> None:
        raise TookTooLong(f"took longer than {seconds:g} s")

    started = time.monotonic()
    previous = signal.signal(signal.SIGALRM, stop)
    remaining, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
        if remaining:
            left = remaining - (time.monotonic() - started)
            signal.setitimer(signal.ITIMER_REAL, max(left, 0.001))
