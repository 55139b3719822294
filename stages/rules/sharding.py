"""G: does the job fit the stated devices at all?"""

from dataclasses import dataclass

from stages.contract import BudgetResult

GIB = 2**30


@dataclass(frozen=True)
class MemoryNeed:
    """Memory of one worker on the smallest micro batch."""

    state_bytes: float
    """Parameters, gradients and optimizer state."""
    activation_bytes: float
    """What is left of the peak; sharding the state does not lower it."""

    def sharded_bytes(self, num_workers: int) -> float:
        """Least need of each of N workers that share the state out (FSDP).

        Gathered parameters of the block at work come on top: "fits" may turn out too hopeful,
        "does not fit" does not.
        """
        return self.state_bytes / num_workers + self.activation_bytes


def fewest_workers(need: MemoryNeed, device_bytes: float, max_workers: int) -> int | None:
    """Fewest workers, from 1 to `max_workers`, on which the job fits; None: it fits on none."""
    for num_workers in range(1, max_workers + 1):
        if need.sharded_bytes(num_workers) <= device_bytes:
            return num_workers
    return None


def tell_why_it_fits_nowhere(budget: BudgetResult, max_workers: int) -> str | None:
    """Why no training process should be started at all; None when the job may fit one worker.

    Training here keeps the whole state on every worker, so that what fits only when the state is
    shared out does not fit either; the reason then says on how many workers it would.
    """
    if budget.fits_memory is not False:
        return None
    size = f"{budget.memory_budget_bytes / GIB:.3g} GiB"
    peak = budget.measured_memory_bytes.value or budget.forecast_memory_bytes.value
    if peak is None or budget.state_bytes.value is None:
        why = budget.measured_memory_bytes.reason
        return f"It fits nowhere that was stated: no micro batch fits a device of {size} ({why})."
    need = MemoryNeed(budget.state_bytes.value, max(peak - budget.state_bytes.value, 0.0))
    fewest = fewest_workers(need, budget.memory_budget_bytes, max_workers)
    told = (
        f"the smallest micro batch takes {peak / GIB:.3g} GiB on one device of {size}, and "
        f"{need.sharded_bytes(max_workers) / GIB:.3g} GiB on each of {max_workers} workers that "
        f"share the state"
    )
    if fewest is None:
        return f"It fits nowhere that was stated: {told}."
    return (
        f"It fits no worker that holds the whole state: {told}. On {fewest} workers a shared state "
        f"would fit on paper, but training here keeps it whole on every worker."
    )
