"""One full training step: forward, loss, backward, optimizer."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from stages.contract import DataShape, Operators, Sample, Workload
from stages.training.job import Job


@dataclass
class Step:
    """A model in training."""

    model: nn.Module
    """Holds the weights."""
    network: nn.Module
    """What is called: the model, or a wrapper that averages gradients over workers."""
    loss: Callable[[Tensor, Sample], Tensor]
    optimizer: torch.optim.Optimizer
    micro_batch_size: int
    device: str

    def run(self, batch: Sample, share: float = 1.0) -> Tensor:
        """Train on a batch, in micro batches; its mean loss, detached, on the device.

        Args:
            batch: stacked samples (N, ...), N at least 1, on any device.
            share: factor on loss and gradient. With W workers whose gradients are averaged, a
            worker
                with n of N samples passes W * n / N; one that has none passes 0, with any sample.
        """
        self.network.train()
        self.optimizer.zero_grad(set_to_none=True)
        batch = {name: values.to(self.device) for name, values in batch.items()}
        num_samples = len(batch["image"])
        total = torch.zeros((), device=self.device)
        for start in range(0, num_samples, self.micro_batch_size):
            part = {k: v[start : start + self.micro_batch_size] for k, v in batch.items()}
            is_last = start + self.micro_batch_size >= num_samples
            with nullcontext() if is_last else _without_exchange(self.network):
                loss = self.loss(self.network(part["image"]), part)
                loss = loss * (share * len(part["image"]) / num_samples)
                loss.backward()  # type: ignore[no-untyped-call]
            total += loss.detach()
        self.optimizer.step()
        return total


def make_step(workload: Workload, operators: Operators, shape: DataShape, job: Job) -> Step:
    """A fresh model, its weights drawn from the job's seed, with AdamW."""
    with torch.random.fork_rng():
        torch.manual_seed(job.seed)
        model = workload.make_model(shape)
    model.to(job.device)
    return Step(
        model=model,
        network=model,
        loss=workload.make_loss(operators),
        optimizer=torch.optim.AdamW(model.parameters(), lr=job.learning_rate),
        micro_batch_size=job.micro_batch_size,
        device=job.device,
    )


def _without_exchange(network: nn.Module) -> AbstractContextManager[Any]:
    """Accumulate locally; gradients are exchanged in the last micro batch alone."""
    no_sync: Callable[[], AbstractContextManager[Any]] = getattr(network, "no_sync", nullcontext)
    return no_sync()
