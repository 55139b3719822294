"""edt(mask, spacing): how `edt.cpp` becomes an operator."""

import ctypes
import math
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

SCHEMA = "(Tensor mask, float[] spacing) -> Tensor"
SIGN = {2: 1 << 15, 4: 1 << 31, 8: 1 << 63}
INFINITY = {
    torch.float16: 0x7C00,
    torch.bfloat16: 0x7F80,
    torch.float32: 0x7F80_0000,
    torch.float64: 0x7FF0_0000_0000_0000,
}


def load(library: Path, namespace: str) -> Any:
    """Register the operator; its overload."""
    native = ctypes.CDLL(str(library))

    def transform(mask: Tensor, spacing: list[float]) -> Tensor:
        _refuse(mask, spacing)
        distances = torch.empty(mask.shape, dtype=_dtype(mask))
        if mask.numel() == 0:
            return distances
        volume = mask[(None,) * (3 - mask.dim())]
        is_floating = mask.is_floating_point()
        steps = [1.0] * (3 - mask.dim()) + list(spacing)
        status = native.edt_transform(
            ctypes.c_void_p(volume.data_ptr()),
            (ctypes.c_int64 * 3)(*volume.shape),
            (ctypes.c_int64 * 3)(*(step * volume.element_size() for step in volume.stride())),
            ctypes.c_int64(volume.element_size()),
            ctypes.c_uint64(SIGN[mask.element_size()] if is_floating else 0),
            ctypes.c_uint64(INFINITY[mask.dtype] if is_floating else 0),
            (ctypes.c_double * 3)(*steps),
            ctypes.c_int64(torch.get_num_threads()),
            ctypes.c_int(mask.dtype == torch.float64),
            ctypes.c_void_p(distances.data_ptr()),
        )
        if status == 1:
            raise ValueError("edt: expected numbers in mask, got NaN; fill it in beforehand")
        if status == 2:
            raise MemoryError(f"edt: no memory for a mask of {mask.numel()} voxels")
        return distances

    def fake(mask: Tensor, spacing: list[float]) -> Tensor:
        _refuse(mask, spacing)
        return mask.new_empty(mask.shape, dtype=_dtype(mask))

    torch.library.define(f"{namespace}::edt", SCHEMA)
    torch.library.impl(f"{namespace}::edt", "CPU", transform)
    torch.library.register_fake(f"{namespace}::edt", fake)
    return getattr(torch.ops, namespace).edt.default


def _dtype(mask: Tensor) -> torch.dtype:
    return torch.float64 if mask.dtype == torch.float64 else torch.float32


def _refuse(mask: Tensor, spacing: list[float]) -> None:
    if mask.dim() not in (1, 2, 3):
        raise ValueError(f"edt: expected a mask of 1 to 3 axes, got {mask.dim()}")
    if len(spacing) != mask.dim():
        raise ValueError(f"edt: expected {mask.dim()} spacings, got {len(spacing)}")
    if not all(math.isfinite(step) and step > 0 for step in spacing):
        raise ValueError(f"edt: expected spacings that are finite and > 0, got {spacing}")
