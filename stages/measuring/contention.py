"""Was the machine ours while we measured? How long this thread waited for a processor."""

from pathlib import Path
from types import TracebackType
from typing import Self

from stages.contract import Figure, known, unknown

_SCHEDULE = Path("/proc/thread-self/schedstat")
"""Nanoseconds on a processor, nanoseconds waiting for one, time slices (Linux, sched-stats)."""


class Contention:
    """Around a measurement: `with Contention() as contention: ...`, then `contention.waiting`."""

    waiting: Figure = unknown("not measured yet")
    """Share of the time at work or waiting for work that this thread waited for a processor."""

    def __enter__(self) -> Self:
        """Take the counts before."""
        self._before = _read_counts()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Take the counts after."""
        after = _read_counts()
        if self._before is None or after is None:
            self.waiting = unknown("/proc/thread-self/schedstat is not there")
            return
        ran, waited = after[0] - self._before[0], after[1] - self._before[1]
        self.waiting = known(waited / max(ran + waited, 1))


def _read_counts() -> tuple[int, int] | None:
    try:
        ran, waited, _ = _SCHEDULE.read_text().split()
    except (OSError, ValueError):
        return None
    return int(ran), int(waited)
