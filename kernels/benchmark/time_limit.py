"""Give up on a call that takes too long, such as a loop of standard operators on a long snake."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class TookTooLong(BaseException):
    """The limit passed. Not an `Exception`, which compilers catch along the way."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise `TookTooLong` when the time is up and the interpreter gets its turn.

    Main thread only; one native call is not interrupted, a sequence of them is.
    """

    def stop(signal_number: int, frame: FrameType | None) -> None:
        raise TookTooLong(f"longer than {seconds:g} s a call")

    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
