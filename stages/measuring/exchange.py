"""Worker's side: a step with and without the exchange of gradients, and the exchange alone.

A switch in the communication hook turns the exchange off, so that one and the same wrapped network
gives both times. Without it a worker's step is compute alone: what the slowest takes longer than
the others is skew, and what a step with the exchange takes longer than the slowest is communication
that nothing hides. (A profiler's communication events hold waiting and compute as well.)
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed as dist

NUM_WARM_UP = 2
"""Gradient buckets are laid out anew after the first step."""
SIZES = (4, 4096, 65536, 1 << 20, 4 << 20, 16 << 20)
"""Bytes."""
NUM_COLLECTIVES = 7
LONGEST_S = 60.0
"""Pairs of steps end after about this long, but for the least number."""
LEAST_PAIRS, MOST_PAIRS = 4, 12


@dataclass
class Switch:
    """State of the hook: whether gradients are exchanged, and the last step's buckets."""

    is_on: bool = True
    started: float = 0.0
    buckets: list[tuple[float, int]] = field(default_factory=list)
    """Milliseconds after the start at which each was ready, and its bytes."""


def exchange_hook(
    state: Switch,
    bucket: dist.GradBucket,  # type: ignore[name-defined]  # DDP checks name and annotation
) -> torch.futures.Future[torch.Tensor]:
    """Note the bucket; average it over the workers unless the switch is off."""
    from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook

    buffer = bucket.buffer()
    ready_ms = (time.perf_counter() - state.started) * 1e3
    state.buckets.append((ready_ms, buffer.numel() * buffer.element_size()))
    if state.is_on:
        return allreduce_hook(dist.group.WORLD, bucket)  # type: ignore[arg-type]
    devices = [buffer.device] if buffer.is_cuda else []
    done: torch.futures.Future[torch.Tensor] = torch.futures.Future(devices=devices)
    done.set_result(buffer)
    return done


def measure_exchange(
    network: Any, take_step: Callable[[int], object], device: str
) -> dict[str, Any]:
    """Pairs of steps without and with the exchange, then collectives; every worker calls this.

    Args:
        network: the wrapped network that `take_step` trains; no hook has been registered with it.
        take_step: one training step, given its index.

    Returns:
        "alone_ms" and "together_ms" (pairs, workers), "bucket_bytes", "bucket_ready_ms" (the
        slowest worker's, without exchange), "collective_us" by bytes (the slowest worker's median).
    """
    switch = Switch()
    network.register_comm_hook(switch, exchange_hook)
    for index in range(NUM_WARM_UP):
        take_step(index)
    alone: list[list[float]] = []
    together: list[list[float]] = []
    ready: list[list[float]] = []
    sizes: list[int] = []
    began = time.perf_counter()
    while len(alone) < LEAST_PAIRS or (
        len(alone) < MOST_PAIRS and _is_time_left(time.perf_counter() - began, device)
    ):
        for is_on in (False, True) if len(alone) % 2 else (True, False):
            index = NUM_WARM_UP + 2 * len(alone) + is_on
            elapsed_ms = _time_step(switch, is_on, take_step, index, device)
            (together if is_on else alone).append(_gather(elapsed_ms, device))
            if not is_on:
                sizes = [num_bytes for _, num_bytes in switch.buckets]
                ready.append([max(_gather(at_ms, device)) for at_ms, _ in switch.buckets])
    return {
        "alone_ms": alone,
        "together_ms": together,
        "bucket_bytes": sizes,
        "bucket_ready_ms": torch.tensor(ready, dtype=torch.float64).median(0).values.tolist(),
        "collective_us": {str(size): _time_collective(size, device) for size in SIZES},
    }


def _time_step(
    switch: Switch, is_on: bool, take_step: Callable[[int], object], index: int, device: str
) -> float:
    switch.is_on = is_on
    switch.buckets = []
    dist.barrier()
    switch.started = time.perf_counter()
    take_step(index)
    _synchronise(device)
    return (time.perf_counter() - switch.started) * 1e3


def _time_collective(num_bytes: int, device: str) -> float:
    """Median over repeats of the slowest worker's all-reduce, in microseconds."""
    values = torch.ones(num_bytes // 4, device=device)
    times = []
    for _ in range(NUM_COLLECTIVES):
        values.fill_(1.0)
        dist.barrier()
        started = time.perf_counter()
        dist.all_reduce(values)
        _synchronise(device)
        times.append(max(_gather((time.perf_counter() - started) * 1e6, device)))
    return float(torch.tensor(times[1:], dtype=torch.float64).median())


def _gather(value: float, device: str) -> list[float]:
    """One number of every worker."""
    own = torch.tensor([value], dtype=torch.float64, device=device)
    every = [torch.zeros_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(every, own)
    return [float(one) for one in every]


def _is_time_left(elapsed_s: float, device: str) -> bool:
    """The same answer on every worker: that of the slowest."""
    return max(_gather(elapsed_s, device)) < LONGEST_S


def _synchronise(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize()
