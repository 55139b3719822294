"""The same values in other places of memory: what an operator meets behind a view.

Each layout is told by an expression of Python, so that a failing one can be pasted and run.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Layout:
    """One way to lay out a tensor."""

    arrange: Callable[[Tensor], Tensor]
    source: Callable[[str, Tensor], str]
    """The expression, from the name of the contiguous tensor and that tensor."""
    fits: Callable[[Tensor], bool]
    """Whether the result differs in memory from the contiguous one."""


def arrange(tensor: Tensor, name: str | None) -> Tensor:
    """Lay out a contiguous tensor; None leaves it as it is, and so does a layout that says nothing
    about this one."""
    layout = None if name is None else LAYOUTS[name]
    return layout.arrange(tensor) if layout is not None and layout.fits(tensor) else tensor


def arranging(variable: str, tensor: Tensor, name: str | None) -> str:
    """The same as Python: the expression that lays out the contiguous tensor of that name."""
    layout = None if name is None else LAYOUTS[name]
    is_laid_out = layout is not None and layout.fits(tensor)
    return layout.source(variable, tensor) if layout is not None and is_laid_out else variable


def fitting(tensor: Tensor) -> Iterator[str]:
    """The names of the layouts that say something about this tensor."""
    for name, layout in LAYOUTS.items():
        if layout.fits(tensor):
            yield name


def _is_wide(tensor: Tensor) -> bool:
    return sum(size > 1 for size in tensor.shape) > 1


def _reversed_axes(tensor: Tensor) -> tuple[int, ...]:
    return tuple(reversed(range(tensor.dim())))


def _transposed(tensor: Tensor) -> Tensor:
    return tensor.transpose(-1, -2).contiguous().transpose(-1, -2)


def _fortran(tensor: Tensor) -> Tensor:
    axes = _reversed_axes(tensor)
    return tensor.permute(axes).contiguous().permute(axes)


def _rotated(tensor: Tensor) -> Tensor:
    return tensor.movedim(0, -1).contiguous().movedim(-1, 0)


def _gaps(tensor: Tensor) -> Tensor:
    return torch.stack((tensor, torch.ones_like(tensor)), -1)[..., 0]


def _padded_rows(tensor: Tensor) -> Tensor:
    return torch.cat((tensor, torch.ones_like(tensor)), -1)[..., : tensor.shape[-1]]


def _offset(tensor: Tensor) -> Tensor:
    before = torch.ones(3, dtype=tensor.dtype, device=tensor.device)
    return torch.cat((before, tensor.reshape(-1)))[3:].view(tensor.shape)


def _first_long_axis(tensor: Tensor) -> int:
    return next(axis for axis, size in enumerate(tensor.shape) if size > 1)


def _expanded(tensor: Tensor) -> Tensor:
    return tensor.narrow(_first_long_axis(tensor), 0, 1).expand(tensor.shape)


def _odd_strides(tensor: Tensor) -> tuple[int, ...]:
    """Strides of axes of one element mean nothing: any number must do."""
    pairs = zip(tensor.shape, tensor.stride(), strict=True)
    return tuple(7 if size == 1 else stride for size, stride in pairs)


LAYOUTS = {
    "transposed": Layout(
        _transposed,
        lambda x, t: f"{x}.transpose(-1, -2).contiguous().transpose(-1, -2)",
        lambda t: t.dim() > 1 and min(t.shape[-2:]) > 1,
    ),
    "Fortran order": Layout(
        _fortran,
        lambda x, t: f"{x}.permute({_reversed_axes(t)}).contiguous().permute({_reversed_axes(t)})",
        lambda t: t.dim() > 2 and _is_wide(t),
    ),
    "permuted": Layout(
        _rotated,
        lambda x, t: f"{x}.movedim(0, -1).contiguous().movedim(-1, 0)",
        lambda t: t.dim() > 2 and _is_wide(t),
    ),
    "sliced with step 2": Layout(
        _gaps,
        lambda x, t: f"torch.stack(({x}, torch.ones_like({x})), -1)[..., 0]",
        lambda t: t.numel() > 1,
    ),
    "rows of a wider tensor": Layout(
        _padded_rows,
        lambda x, t: f"torch.cat(({x}, torch.ones_like({x})), -1)[..., :{t.shape[-1]}]",
        lambda t: t.dim() > 1 and t.numel() > t.shape[-1] > 0,
    ),
    "storage offset": Layout(
        _offset,
        lambda x, t: (
            f"torch.cat((torch.ones(3, dtype={t.dtype}), {x}.reshape(-1)))[3:]"
            f".view({tuple(t.shape)})"
        ),
        lambda t: t.dim() > 0 and t.numel() > 0,
    ),
    "expanded": Layout(
        _expanded,
        lambda x, t: f"{x}.narrow({_first_long_axis(t)}, 0, 1).expand({tuple(t.shape)})",
        lambda t: t.numel() > 1,
    ),
    "channels last": Layout(
        lambda t: t.contiguous(
            memory_format=torch.channels_last if t.dim() == 4 else torch.channels_last_3d
        ),
        lambda x, t: (
            f"{x}.contiguous(memory_format=torch.channels_last{'' if t.dim() == 4 else '_3d'})"
        ),
        lambda t: t.dim() in (4, 5) and t.shape[1] > 1 and t.numel() > 1,
    ),
    "odd strides on axes of one": Layout(
        lambda t: t.as_strided(t.shape, _odd_strides(t)),
        lambda x, t: f"{x}.as_strided({tuple(t.shape)}, {_odd_strides(t)})",
        lambda t: 1 in t.shape and t.numel() > 1,
    ),
}
