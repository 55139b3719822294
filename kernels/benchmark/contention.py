"""Was the machine ours? What share of its processors others used while we measured."""

import os
import time
from pathlib import Path
from types import TracebackType
from typing import Self

_STAT = Path("/proc/stat")
_IDLE_FIELDS = (3, 4)
"""Idle and waiting for input or output, among the first eight (man 5 proc_stat)."""
_NUM_FIELDS = 8


class Contention:
    """Around a measurement: `with Contention() as contention: ...`, then `contention.by_others`."""

    by_others: float | None = None
    """Share of all processors' time, 0 to 1; None where /proc/stat does not tell."""

    def __enter__(self) -> Self:
        """Take the counts before."""
        self._before = _busy_s()
        self._own = time.process_time()
        self._wall = time.perf_counter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Take the counts after."""
        after = _busy_s()
        if self._before is None or after is None:
            return
        available = (time.perf_counter() - self._wall) * (os.cpu_count() or 1)
        others = after - self._before - (time.process_time() - self._own)
        self.by_others = min(max(others / max(available, 1e-9), 0.0), 1.0)


def _busy_s() -> float | None:
    """Seconds that all processors together have been busy since the machine started."""
    try:
        counts = [int(count) for count in _STAT.read_text().split("\n", 1)[0].split()[1:]]
    except (OSError, ValueError):
        return None
    if len(counts) < _NUM_FIELDS:
        return None
    busy = sum(counts[:_NUM_FIELDS]) - sum(counts[field] for field in _IDLE_FIELDS)
    return busy / os.sysconf("SC_CLK_TCK")
