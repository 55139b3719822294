"""How long do the operators take on a GPU, beside a way through the CPU and torch operators?"""

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from kernels.folder import open_operator

NUM_WARM_UPS = 3
NUM_REPEATS = 15
MOST_SECONDS_A_ROW = 4.0
MAX_COMPOSED_NUMEL = 256**3
"""Compositions keep many tensors of the volume's size; beyond it they take minutes."""
SIZES = ((128,) * 3, (256,) * 3, (512,) * 3, (2048,) * 2, (8192,) * 2)
QUICK_SIZES = ((128,) * 3, (1024,) * 2)
LOSS_SIZES = ((2, 1, 96, 96, 96), (2, 1, 128, 128, 128), (8, 1, 512, 512))


@dataclass(frozen=True)
class Row:
    """One operation on one input. Times are medians, in milliseconds."""

    operation: str
    shape: tuple[int, ...]
    content: str
    ours_ms: float
    cpu_round_trip_ms: float
    """The mask to the CPU, the operator there, its result back."""
    composed_ms: float | None
    """The best composition of torch operators on the GPU; None where it was not run."""
    ns_per_voxel: float
    bandwidth_fraction: float
    """Of the measured bandwidth of a copy, if each input were read and each output written once."""
    memory_bytes_per_voxel: float
    """Beyond inputs and results, at most at one time."""


@dataclass(frozen=True)
class Operation:
    """What is timed: ours on the GPU, ours through the CPU, and torch operators on the GPU."""

    name: str
    operator: str
    call: Callable[..., Any]
    composed: Callable[..., Any] | None


def measure_all(device: torch.device, is_quick: bool) -> Iterator[Row]:
    """Rows of both mask operators and of the losses."""
    copy_bytes_per_s = measure_copy(device)
    for shape in QUICK_SIZES if is_quick else SIZES:
        operations = list(_mask_operations(len(shape)))
        for content, mask in _masks(shape, device):
            for operation in operations:
                yield _row(operation, content, (mask,), copy_bytes_per_s)
    for shape in LOSS_SIZES[:1] if is_quick else LOSS_SIZES:
        for num_lesions in (5, 200):
            yield from _loss_rows(shape, num_lesions, device, copy_bytes_per_s)


def measure_copy(device: torch.device, num_bytes: int = 1 << 30) -> float:
    """Bytes read and written a second by a copy within the device's memory."""
    source = torch.empty(num_bytes // 2, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return num_bytes / (_device_ms(lambda: target.copy_(source), device) / 1e3)


def _masks(shape: tuple[int, ...], device: torch.device) -> Iterator[tuple[str, Tensor]]:
    generator = torch.Generator(device).manual_seed(7)
    values = torch.rand(shape, generator=generator, device=device)
    pool = torch.nn.functional.avg_pool3d if len(shape) == 3 else torch.nn.functional.avg_pool2d
    smooth = values[None, None]
    for _ in range(3):
        smooth = pool(smooth, 9, stride=1, padding=4, count_include_pad=False)
    smooth = smooth[0, 0]
    sample = smooth.reshape(-1)[:: max(1, smooth.numel() // 1_000_000)]
    yield "sparse", smooth > sample.quantile(0.99)
    yield "smooth", smooth > sample.quantile(0.5)
    yield "noise", values < 0.5
    yield "inverted", smooth <= sample.quantile(0.99)


def _mask_operations(dims: int) -> Iterator[Operation]:
    from kernels.connected_components import connected_components
    from kernels.distance_transform import distance_transform

    spacing = (2.5, 1.0, 0.8)[-dims:]
    for connectivity in (1, dims):
        yield Operation(
            f"components, connectivity {connectivity}",
            "connected_components",
            partial(connected_components, connectivity=connectivity),
            partial(_best_composition("connected_components"), connectivity=connectivity),
        )
    yield Operation(
        "distance",
        "distance_transform",
        partial(distance_transform, spacing=spacing),
        partial(_best_composition("distance_transform"), spacing=spacing),
    )
    signed = partial(distance_transform, spacing=spacing, signed=True)
    yield Operation("distance, signed", "distance_transform", signed, None)


def _best_composition(operator: str) -> Callable[..., Any]:
    """The first one that the folder names."""
    return open_operator(operator).compositions[0].call


def _row(
    operation: Operation, content: str, inputs: tuple[Tensor, ...], copy_bytes_per_s: float
) -> Row:
    device, shape = inputs[0].device, tuple(inputs[0].shape)
    ours_ms = _device_ms(lambda: operation.call(*inputs), device)
    voxels = inputs[0].numel()
    least_s = open_operator(operation.operator).spec.bytes_per_voxel * voxels / copy_bytes_per_s
    return Row(
        operation.name,
        shape,
        content,
        ours_ms,
        _wall_ms(lambda: _through_cpu(operation.call, inputs), device),
        _composed_ms(operation.composed, inputs),
        ours_ms * 1e6 / voxels,
        least_s / (ours_ms / 1e3),
        _memory_bytes(lambda: operation.call(*inputs), device) / voxels,
    )


def _composed_ms(composed: Callable[..., Any] | None, inputs: tuple[Tensor, ...]) -> float | None:
    """None where nothing is composed, the input is too large, or the memory too small."""
    if composed is None or inputs[0].numel() > MAX_COMPOSED_NUMEL:
        return None
    try:
        return _device_ms(lambda: composed(*inputs), inputs[0].device)
    except torch.OutOfMemoryError:
        return None


def _loss_rows(
    shape: tuple[int, ...], num_lesions: int, device: torch.device, copy_bytes_per_s: float
) -> Iterator[Row]:
    from kernels.lesion_loss import lesion_loss
    from kernels.lesion_loss.cases import make_inputs
    from kernels.lesion_loss.op import voronoi_regions

    radii = ((3,) * num_lesions,) * shape[0]
    logits, target = (tensor.to(device) for tensor in make_inputs(shape, radii, seed=5))
    composed = _best_composition("lesion_loss")
    for kind in ("blob", "cc_dice_ce"):
        inputs: tuple[Tensor, ...] = (logits, target)
        if kind == "cc_dice_ce":
            inputs = (logits, target, voronoi_regions(target))
        operation = Operation(
            f"{kind}, forward and backward",
            "lesion_loss",
            partial(_training_step, lesion_loss, kind),
            partial(_training_step, composed, kind),
        )
        yield _row(operation, f"{num_lesions} lesions", inputs, copy_bytes_per_s)


def _training_step(
    loss: Callable[..., Tensor],
    kind: str,
    logits: Tensor,
    target: Tensor,
    regions: Tensor | None = None,
) -> Tensor:
    """The gradient of a loss with respect to the logits."""
    leaf = logits.detach().requires_grad_()
    loss(leaf, target, kind=kind, regions=regions).backward()
    assert leaf.grad is not None
    return leaf.grad


def _through_cpu(call: Callable[..., Any], inputs: tuple[Tensor, ...]) -> Any:
    result = call(*(tensor.cpu() for tensor in inputs))
    return result.to(inputs[0].device)


def _device_ms(run: Callable[[], Any], device: torch.device) -> float:
    """Median time between events on the device, in milliseconds."""
    for _ in range(NUM_WARM_UPS):
        run()
    times = []
    begun = time.perf_counter()
    for _ in range(NUM_REPEATS):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        run()
        end.record()
        torch.cuda.synchronize(device)
        times.append(start.elapsed_time(end))
        if time.perf_counter() - begun > MOST_SECONDS_A_ROW:
            break
    return statistics.median(times)


def _wall_ms(run: Callable[[], Any], device: torch.device) -> float:
    """Median wall time, in milliseconds: the CPU is part of it."""
    run()
    times = []
    begun = time.perf_counter()
    for _ in range(NUM_REPEATS // 3):
        torch.cuda.synchronize(device)
        start = time.perf_counter()
        run()
        torch.cuda.synchronize(device)
        times.append((time.perf_counter() - start) * 1e3)
        if time.perf_counter() - begun > MOST_SECONDS_A_ROW:
            break
    return statistics.median(times)


def _memory_bytes(run: Callable[[], Any], device: torch.device) -> float:
    torch.cuda.synchronize(device)
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    result = run()
    torch.cuda.synchronize(device)
    kept = torch.cuda.memory_allocated(device) - before
    peak = torch.cuda.max_memory_allocated(device) - before
    del result
    return float(peak - kept)
