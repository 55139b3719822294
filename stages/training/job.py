"""What is trained, and for how long."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Job:
    """One training job; with the same workload, samples and operators it gives the same weights."""

    num_steps: int
    batch_size: int
    """Global batch: samples a step, whatever the number of workers."""
    micro_batch_size: int
    """Most samples in one forward pass; gradients are accumulated over the batch."""
    learning_rate: float
    """At the first step; it falls to nearly 0 at the last."""
    seed: int
    checkpoint_every_steps: int
    device: str
    """"cpu", "cuda" or "cuda:N"; with several workers, "cuda" gives each its own."""
