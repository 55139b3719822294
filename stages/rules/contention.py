"""When a machine is too busy with other work for a missed budget to count against the candidate."""

from stages.contract import Figure

MOST_WAITING = 0.2
"""On a machine that is this busy with other work, a budget that is met is met, but one that is
missed may be missed because of the others."""


def is_too_busy(waiting: Figure) -> bool:
    """Whether others held the processor for more than `MOST_WAITING` of the timing; if known."""
    return waiting.value is not None and waiting.value > MOST_WAITING
