"""G: does the job fit the stated devices at all?"""

from dataclasses import dataclass


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
