"""A probe as Python that can be pasted into a prompt."""

import base64
import zlib
from typing import Any

import torch
from torch import Tensor

from stages.numerics.layouts import arranging
from stages.numerics.probe import Probe

MOST_LISTED = 64
"""Elements up to which a tensor is written out."""
TOO_LARGE = "too large to be written out"
MOST_PACKED = 4_000
"""Characters up to which a larger one is packed into a string."""


def as_python(probe: Probe, name: str) -> str:
    """The call, one line a tensor: imports, tensors x0, x1, ..., then `name(...)`.

    `name` is the expression of the operator, such as `torch.ops.breakeven.lesion_loss`.
    """
    lines = ["import torch"]
    count = 0

    def write(value: Any) -> str:
        nonlocal count
        if not isinstance(value, Tensor):
            return _literal(value)
        variable = f"x{count}"
        lines.append(f"{variable} = {tensor_expression(value)}")
        laid_out = arranging(variable, value, probe.layouts.get(count))
        if laid_out != variable:
            lines.append(f"{variable} = {laid_out}")
        count += 1
        return variable

    words = [_nested(value, write) for value in probe.args]
    words += [f"{key}={_nested(value, write)}" for key, value in probe.kwargs.items()]
    lines.append(f"{name}({', '.join(words)})")
    is_too_large = any(TOO_LARGE in line for line in lines)
    if is_too_large and probe.recipe and not probe.layouts:
        return f"import torch\n{probe.recipe}\n{name}(*args, **kwargs)"
    return "\n".join(lines)


def tensor_expression(tensor: Tensor) -> str:
    """One expression that makes a contiguous tensor, bit for bit unless it is too large."""
    shape, dtype = tuple(tensor.shape), tensor.dtype
    if tensor.numel() and bool((tensor == tensor.reshape(-1)[0]).all()) and tensor.dim():
        return f"torch.full({shape}, {_literal(tensor.reshape(-1)[0].item())}, dtype={dtype})"
    if not tensor.numel():
        return f"torch.zeros({shape}, dtype={dtype})"
    if tensor.numel() <= MOST_LISTED and not _has_odd_nan(tensor):
        return f"torch.tensor({_literal(tensor.tolist())}, dtype={dtype})"
    return _packed(tensor.cpu().contiguous(), shape)


def _has_odd_nan(tensor: Tensor) -> bool:
    """Whether it holds a NaN of other bits than those of `torch.nan`."""
    nans = tensor[tensor.isnan()].double()
    usual = torch.full_like(nans, torch.nan)
    return bool((nans.view(torch.int64) != usual.view(torch.int64)).any())


def _packed(tensor: Tensor, shape: tuple[int, ...]) -> str:
    raw = tensor.reshape(-1).view(torch.uint8).numpy().tobytes()
    text = base64.b85encode(zlib.compress(raw, 9)).decode()
    if len(text) > MOST_PACKED:
        return (
            f"... # {shape} {tensor.dtype}, {TOO_LARGE}: "
            f"values from {tensor.min().item()} to {tensor.max().item()}"
        )
    return (
        "torch.frombuffer(bytearray(__import__('zlib').decompress("
        f"__import__('base64').b85decode({text!r}))), dtype={tensor.dtype}).reshape({shape})"
    )


def _nested(value: Any, write: Any) -> str:
    if isinstance(value, list | tuple) and any(isinstance(item, Tensor) for item in value):
        inner = ", ".join(_nested(item, write) for item in value)
        return f"[{inner}]"
    text: str = write(value)
    return text


def _literal(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, float) and value != value:
        return "torch.nan"
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return "torch.inf" if value > 0 else "-torch.inf"
    return repr(value)
