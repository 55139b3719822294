"""wdice(p, t, w): how `wdice.cpp` becomes an operator, with a gradient in all three."""

import ctypes
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

SCHEMA = "(Tensor p, Tensor t, Tensor w) -> Tensor"
GRADIENT_SCHEMA = "(Tensor incoming, Tensor p, Tensor t, Tensor w) -> (Tensor, Tensor, Tensor)"
MOST_AXES = 64


def load(library: Path, namespace: str) -> Any:
    """Register the operator and its gradient; the operator's overload."""
    native = ctypes.CDLL(str(library))
    name, gradient_name = f"{namespace}::wdice", f"{namespace}::wdice_gradient"

    def forward(p: Tensor, t: Tensor, w: Tensor) -> Tensor:
        _refuse(p, t, w)
        loss = ctypes.c_double()
        _answered(native.wdice_forward(*_described(p, t, w), ctypes.byref(loss)))
        return torch.tensor(loss.value, dtype=torch.float64).to(p.dtype)

    def backward(
        incoming: Tensor, p: Tensor, t: Tensor, w: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        dtype = _working_dtype(p)
        of_p, of_t = (torch.empty(p.shape, dtype=dtype) for _ in "pt")
        of_w = torch.empty(p.shape, dtype=torch.float64)
        _answered(
            native.wdice_backward(
                *_described(p, t, w),
                ctypes.c_double(float(incoming)),
                *(ctypes.c_void_p(one.data_ptr()) for one in (of_p, of_t, of_w)),
            )
        )
        return of_p.to(p.dtype), of_t.to(t.dtype), of_w.sum_to_size(w.shape).to(w.dtype)

    def fake(p: Tensor, t: Tensor, w: Tensor) -> Tensor:
        _refuse(p, t, w)
        return p.new_empty(())

    def fake_backward(
        incoming: Tensor, p: Tensor, t: Tensor, w: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        return p.new_empty(p.shape), t.new_empty(t.shape), w.new_empty(w.shape)

    for one, schema, implementation, shape_of in (
        (name, SCHEMA, forward, fake),
        (gradient_name, GRADIENT_SCHEMA, backward, fake_backward),
    ):
        torch.library.define(one, schema)
        torch.library.impl(one, "CPU", implementation)
        torch.library.register_fake(one, shape_of)
    operators = getattr(torch.ops, namespace)

    def keep(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    def differentiate(ctx: Any, incoming: Tensor) -> tuple[Tensor | None, ...]:
        found = operators.wdice_gradient(incoming, *ctx.saved_tensors)
        return tuple(
            one if is_asked else None
            for one, is_asked in zip(found, ctx.needs_input_grad, strict=True)
        )

    def refuse_twice(ctx: Any, *incoming: Tensor) -> None:
        raise NotImplementedError("wdice is differentiable once; its gradient has none")

    torch.library.register_autograd(name, differentiate, setup_context=keep)
    torch.library.register_autograd(gradient_name, refuse_twice)
    return operators.wdice.default


def _working_dtype(p: Tensor) -> torch.dtype:
    return torch.float64 if p.dtype == torch.float64 else torch.float32


def _described(p: Tensor, t: Tensor, w: Tensor) -> tuple[Any, ...]:
    """What both entries take first. Half precisions are widened, which is exact."""
    fields = [field.to(_working_dtype(p)) for field in (p, t, w.expand_as(p))]
    strides = [step for field in fields for step in field.stride()]
    return (
        ctypes.c_int(p.dtype == torch.float64),
        _Addresses(fields),
        (ctypes.c_int64 * len(strides))(*strides),
        (ctypes.c_int64 * p.dim())(*p.shape),
        ctypes.c_int64(p.dim()),
        ctypes.c_int64(torch.get_num_threads()),
    )


class _Addresses:
    """Of tensors, which live as long as this does; what ctypes passes for it."""

    def __init__(self, fields: list[Tensor]) -> None:
        self.fields = fields
        self._as_parameter_ = (ctypes.c_void_p * len(fields))(*(one.data_ptr() for one in fields))


def _answered(status: int) -> None:
    if status:
        raise MemoryError("wdice: no memory for the sums")


def _refuse(p: Tensor, t: Tensor, w: Tensor) -> None:
    if not p.is_floating_point() or {t.dtype, w.dtype} != {p.dtype}:
        raise ValueError(
            f"wdice: expected one floating dtype, got {p.dtype}, {t.dtype} and {w.dtype}"
        )
    if p.shape != t.shape:
        raise ValueError(f"wdice: expected t of shape {tuple(p.shape)}, got {tuple(t.shape)}")
    if p.dim() > MOST_AXES:
        raise ValueError(f"wdice: expected at most {MOST_AXES} axes, got {p.dim()}")
    w.expand_as(p)  # raises where it cannot
