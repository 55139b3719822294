"""All the ways to call an operator that are worth watching: cases, layouts, dtypes, levels."""

import inspect
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor
from torch.utils._pytree import tree_map

from kernels.folder import OperatorFolder
from kernels.operator import OperatorCase

Inputs = tuple[tuple[Any, ...], dict[str, Any]]

LEVEL = "BREAKEVEN_CPU_LEVEL"
LEVELS = ("portable", "avx2", "avx512")
"""Of kernels/native/cpu_level.h, narrowest first."""
MAX_NUMEL_OF_DTYPES = 10_000
"""Larger cases are called in their own dtype alone: another adds time and nothing new."""


Truth = Literal["reference", "copy"]


@dataclass(frozen=True)
class Variant:
    """The inputs of a case in another layout or dtype."""

    name: str
    inputs: Inputs
    truth: Truth | None
    """What the result is held to: the reference on the case, the operator itself on a contiguous
    copy (asking a slow reference once more would find no more), or nothing."""


def variants_of(case: OperatorCase, dtypes: Sequence[str]) -> Iterator[Variant]:
    """The case as it is, in every layout, and its first argument in every dtype."""
    yield Variant("as given", case.make(), "reference")
    for name, arrange in _LAYOUTS.items():
        yield Variant(name, _map_tensors(arrange, case.make()), "reference")
    yield Variant("expanded", _map_tensors(_expand, case.make()), "copy")
    if case.make()[0][0].numel() <= MAX_NUMEL_OF_DTYPES:
        for dtype in dtypes:
            (first, *others), options = case.make()
            yield Variant(dtype, ((first.to(getattr(torch, dtype)), *others), options), None)


def copy_inputs(inputs: Inputs) -> Inputs:
    """The same values, contiguous, each tensor in memory of its own."""
    return _map_tensors(lambda tensor: tensor.clone(memory_format=torch.contiguous_format), inputs)


def levels_of(operator: OperatorFolder, call: Callable[[], object]) -> tuple[str, ...]:
    """The instruction sets that its sources choose from and this machine has; "" for no choice.

    Args:
        operator: its sources name the header that chooses.
        call: a small call; it raises where the level is one that the machine has not.
    """
    files = (*operator.sources, *operator.headers)
    if not any("cpu_level.h" in file.read_text("utf-8", "replace") for file in files):
        return ("",)
    return tuple(level for level in LEVELS if _is_there(level, call))


@contextmanager
def at_level(level: str) -> Iterator[None]:
    """Within it operators use this instruction set; "" leaves the choice to them."""
    before = os.environ.pop(LEVEL, None)
    if level:
        os.environ[LEVEL] = level
    try:
        yield
    finally:
        os.environ.pop(LEVEL, None)
        if before is not None:
            os.environ[LEVEL] = before


def takes_out(operator: OperatorFolder) -> bool:
    """Whether the public function writes into a tensor that it is given."""
    return "out" in inspect.signature(operator.custom).parameters


def _is_there(level: str, call: Callable[[], object]) -> bool:
    with at_level(level):
        try:
            call()
        except RuntimeError as error:
            if "this machine has no" in str(error):
                return False
            raise
    return True


def _map_tensors(change: Callable[[Tensor], Tensor], inputs: Inputs) -> Inputs:
    changed: Inputs = tree_map(
        lambda leaf: change(leaf) if isinstance(leaf, Tensor) and leaf.dim() else leaf, inputs
    )
    return changed


def _transpose(tensor: Tensor) -> Tensor:
    """Fortran order, as files of medical images come."""
    order = tuple(reversed(range(tensor.dim())))
    return tensor.permute(order).contiguous().permute(order)


def _stride(tensor: Tensor) -> Tensor:
    """Every other element along every axis."""
    wide = tensor.new_ones([2 * size for size in tensor.shape])
    strided = wide[tuple(slice(None, None, 2) for _ in tensor.shape)]
    return strided.copy_(tensor)


def _shift(tensor: Tensor) -> Tensor:
    """Not at the start of its storage, and at its very end."""
    return torch.cat([tensor.new_ones(1), tensor.reshape(-1)])[1:].view(tensor.shape)


def _flip_storage(tensor: Tensor) -> Tensor:
    """The last two axes exchanged in memory."""
    if tensor.dim() < 2:
        return tensor
    return tensor.transpose(-1, -2).contiguous().transpose(-1, -2)


def _expand(tensor: Tensor) -> Tensor:
    """The first slice of the first axis, repeated without memory."""
    return tensor[:1].expand(tensor.shape) if tensor.numel() else tensor


_LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "transposed": _transpose,
    "last axes exchanged": _flip_storage,
    "strided": _stride,
    "shifted": _shift,
}
