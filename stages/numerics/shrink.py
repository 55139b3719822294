"""Make a failing probe smaller while it keeps failing: shape first, then values."""

import time
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from stages.numerics.probe import Probe

IsFailing = Callable[[Probe], bool]


def shrink(probe: Probe, is_failing: IsFailing, time_limit_s: float) -> Probe:
    """The smallest failing probe found within the time; the given one if none is smaller.

    Axes that several tensors share are cut together. `is_failing` must be true of `probe`.
    """
    until = time.monotonic() + time_limit_s
    for propose in (_shorter, _simpler):
        is_smaller = True
        while is_smaller and time.monotonic() < until:
            is_smaller = False
            for candidate in propose(probe):
                if time.monotonic() > until:
                    break
                if is_failing(candidate):
                    probe, is_smaller = candidate, True
                    break
    return probe


def _shorter(probe: Probe) -> Iterator[Probe]:
    """Cut an axis to its first or last half, then by one element at either end."""
    lead = max(probe.tensors, key=Tensor.numel, default=None)
    if lead is None:
        return
    order = sorted(range(lead.dim()), key=lambda axis: -lead.shape[axis])
    for axis in order:
        size = lead.shape[axis]
        cuts = dict.fromkeys(
            (begin, end)
            for begin, end in (
                (0, size // 2),
                (size // 2, size),
                (size // 4, size - size // 4),
                (0, size - 1),
                (1, size),
            )
            if 0 < end - begin < size
        )
        for begin, end in cuts:
            yield _cut(probe, lead.dim() - axis, size, begin, end)


def _cut(probe: Probe, from_end: int, size: int, begin: int, end: int) -> Probe:
    """Narrow the axis, counted from the last, in every tensor that has it at that size."""

    def narrow(tensor: Tensor) -> Tensor:
        if tensor.dim() < from_end or tensor.shape[-from_end] != size:
            return tensor
        return tensor.narrow(tensor.dim() - from_end, begin, end - begin).contiguous()

    return probe.with_tensors(narrow)


def _simpler(probe: Probe) -> Iterator[Probe]:
    """Fewer different values: halves to zero, all nonzero to one, single elements to zero."""
    for place, tensor in enumerate(probe.tensors):
        flat = tensor.reshape(-1)
        if not flat.numel():
            continue
        if tensor.dtype != torch.bool and not _is_of(flat, (0, 1)):
            yield probe.with_tensor(place, (tensor != 0).to(tensor.dtype))
            if tensor.is_floating_point():
                yield probe.with_tensor(place, tensor.nan_to_num(0.0, 1.0, -1.0).round())
        filled = flat.nonzero().squeeze(1)
        if not filled.numel():
            continue
        chunk = filled.numel()
        while chunk >= 1:
            for start in range(0, filled.numel(), chunk):
                changed = flat.clone()
                changed[filled[start : start + chunk]] = 0
                yield probe.with_tensor(place, changed.reshape(tensor.shape))
            if filled.numel() // chunk > 64:
                break
            chunk //= 2


def _is_of(flat: Tensor, values: tuple[int, ...]) -> bool:
    return bool(torch.isin(flat.double(), torch.tensor(values, dtype=torch.float64)).all())
