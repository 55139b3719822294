"""Checks of layout, mutation and aliasing: what an operator does with memory that is not its
own."""

from collections.abc import Callable, Iterator

import torch

from stages.contract import NumericsCheck
from stages.numerics.comparison import (
    Inputs,
    are_same_bits,
    compare,
    map_tensors,
    tensors,
    tolerance_for,
)
from stages.numerics.subject import Subject, copy_inputs, failed, passed


def check_layouts(subject: Subject) -> NumericsCheck:
    """The same values in another layout give the same result as a contiguous copy."""
    count, names = 0, set()
    for case, inputs in subject.some_cases(4):
        for layout, arranged in _arrangements(inputs):
            result, expected = subject.call(arranged), subject.call(copy_inputs(arranged))
            found = compare(
                result, expected, tolerance_for(subject.operator.spec.tolerances, inputs)
            )
            count += 1
            names.add(layout)
            if not found.is_within:
                return failed("layouts", count, f"{case}, {layout}: {found.detail}", found.largest)
    return passed("layouts", count, ", ".join(sorted(names)))


def check_inputs_unchanged(subject: Subject) -> NumericsCheck:
    """No input is written to."""
    cases = subject.some_cases(6)
    for count, (case, inputs) in enumerate(cases, start=1):
        given = copy_inputs(inputs)
        before = copy_inputs(given)
        subject.call(given)
        if not are_same_bits(given, before):
            return failed("inputs unchanged", count, f"{case}: an input was written to")
    return passed("inputs unchanged", len(cases), "no input is written to")


def check_aliasing(subject: Subject) -> NumericsCheck:
    """No output shares memory with an input: a functional schema promises that."""
    cases = subject.some_cases(6)
    for count, (case, inputs) in enumerate(cases, start=1):
        given = {tensor.untyped_storage().data_ptr() for tensor in tensors(inputs)}
        returned = {t.untyped_storage().data_ptr() for t in tensors(subject.call(inputs))}
        if given & returned:
            return failed("aliasing", count, f"{case}: an output shares memory with an input")
    return passed("aliasing", len(cases), "no output shares memory with an input")


def _arrangements(inputs: Inputs) -> Iterator[tuple[str, Inputs]]:
    for name, arrange in _LAYOUTS.items():
        yield name, map_tensors(arrange, inputs)


def _transposed(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.dim() < 2:
        return tensor
    return tensor.transpose(-1, -2).contiguous().transpose(-1, -2)


def _reversed_strides(tensor: torch.Tensor) -> torch.Tensor:
    """Fortran order, as files of medical images come."""
    axes = tuple(reversed(range(tensor.dim())))
    return tensor.permute(axes).contiguous().permute(axes)


def _sliced(tensor: torch.Tensor) -> torch.Tensor:
    """Every other element of a buffer whose gaps hold ones."""
    if not tensor.dim():
        return tensor
    wide = torch.ones((*tensor.shape[:-1], 2 * tensor.shape[-1]), dtype=tensor.dtype).to(
        tensor.device
    )
    wide[..., ::2] = tensor
    return wide[..., ::2]


def _offset(tensor: torch.Tensor) -> torch.Tensor:
    """Not at the start of its storage, and not aligned."""
    buffer = torch.ones(tensor.numel() + 3, dtype=tensor.dtype).to(tensor.device)
    buffer[3:] = tensor.reshape(-1)
    return buffer[3:].view(tensor.shape)


def _expanded(tensor: torch.Tensor) -> torch.Tensor:
    """One slice along the first longer axis, repeated without memory."""
    for axis, size in enumerate(tensor.shape):
        if size > 1:
            return tensor.narrow(axis, 0, 1).expand(tensor.shape)
    return tensor


_LAYOUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "transposed": _transposed,
    "reversed strides": _reversed_strides,
    "sliced": _sliced,
    "offset": _offset,
    "expanded": _expanded,
}
