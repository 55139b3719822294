"""The side of a worker that torchrun started: join the others, train, leave.

Each worker takes its part of the same global batch, and gradients are weighted by samples, so that
the result depends on the number of workers only through rounding."""

import copy
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from stages.contract import Sample, Workload
from stages.training.job import Job
from stages.training.order import make_batch
from stages.training.step import Step
from stages.training.team import Team

EXCHANGE_LIMIT = timedelta(minutes=5)
"""A worker that waits longer ends with an error; torch's own limit is half an hour."""


@contextmanager
def joined_team(
    workload: Workload, samples: Sequence[Sample], job: Job
) -> Iterator[tuple[Team, str]]:
    """Join the workers of this launch; the team, and the device of this worker.

    Leaves without a barrier: after the last exchange no worker waits for another.

    Raises:
        KeyError: the process was not started by torchrun.
    """
    rank, num_workers = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    device = job.device
    if device == "cuda":
        device = f"cuda:{os.environ['LOCAL_RANK']}"
    if device.startswith("cuda"):
        torch.cuda.set_device(device)
    backend = "nccl" if device.startswith("cuda") else "gloo"
    dist.init_process_group(backend, timeout=EXCHANGE_LIMIT)

    def wrap(step: Step) -> nn.Module:
        probe = make_batch(workload, samples, job, (0,))
        unused = parameters_without_gradient(step, probe)
        if unused and rank == 0:
            print(
                f"{len(unused)} parameters take no part in the loss ({', '.join(unused[:8])}): "
                f"every step searches for them, which costs time",
                file=sys.stderr,
                flush=True,
            )
        return DistributedDataParallel(
            step.model, find_unused_parameters=bool(unused), forward_sync_buffers=False
        )

    try:
        yield Team(rank, num_workers, wrap, average_over_workers), device
    finally:
        dist.destroy_process_group()


def average_over_workers(value: Tensor) -> Tensor:
    """Mean of a scalar over all workers."""
    total = value.detach().clone()
    dist.all_reduce(total)
    return total / dist.get_world_size()


def largest_over_workers(value: float, device: str) -> float:
    """Largest of one number from every worker."""
    largest = torch.tensor(value, dtype=torch.float64, device=device)
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    return float(largest)


def parameters_without_gradient(step: Step, batch: Sample) -> list[str]:
    """Names of trainable parameters that a step leaves without a gradient; found on a copy.

    Workers that exchange gradients would wait for these for ever.
    """
    model = copy.deepcopy(step.model).train()
    batch = {name: values.to(step.device) for name, values in batch.items()}
    step.loss(model(batch["image"]), batch).backward()  # type: ignore[no-untyped-call]
    named: list[tuple[str, Any]] = list(model.named_parameters())
    return [name for name, weight in named if weight.requires_grad and weight.grad is None]
