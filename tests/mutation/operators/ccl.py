"""ccl(mask, connectivity=1): how `ccl.cpp` becomes an operator."""

import ctypes
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

SCHEMA = "(Tensor mask, int connectivity=1) -> Tensor"
SIGN = {2: 1 << 15, 4: 1 << 31, 8: 1 << 63}
INFINITY = {
    torch.float16: 0x7C00,
    torch.bfloat16: 0x7F80,
    torch.float32: 0x7F80_0000,
    torch.float64: 0x7FF0_0000_0000_0000,
}
Three = ctypes.c_int64 * 3


def load(library: Path, namespace: str) -> Any:
    """Register the operator; its overload."""
    native = ctypes.CDLL(str(library))

    def label(mask: Tensor, connectivity: int = 1) -> Tensor:
        _refuse(mask, connectivity)
        labels = torch.empty(mask.shape, dtype=torch.int64)
        if mask.numel() == 0:
            return labels
        volume = mask if mask.dim() == 3 else mask.unsqueeze(0)
        is_floating = mask.is_floating_point()
        status = native.ccl_label(
            ctypes.c_void_p(volume.data_ptr()),
            Three(*volume.shape),
            Three(*(step * volume.element_size() for step in volume.stride())),
            ctypes.c_int64(volume.element_size()),
            ctypes.c_uint64(SIGN[mask.element_size()] if is_floating else 0),
            ctypes.c_uint64(INFINITY[mask.dtype] if is_floating else 0),
            ctypes.c_int64(connectivity),
            ctypes.c_int64(torch.get_num_threads()),
            ctypes.c_void_p(labels.data_ptr()),
        )
        if status == 1:
            raise ValueError("ccl: expected numbers in mask, got NaN; fill it in beforehand")
        if status == 2:
            raise MemoryError(f"ccl: no memory for a mask of {mask.numel()} voxels")
        return labels

    def fake(mask: Tensor, connectivity: int = 1) -> Tensor:
        _refuse(mask, connectivity)
        return mask.new_empty(mask.shape, dtype=torch.int64)

    torch.library.define(f"{namespace}::ccl", SCHEMA)
    torch.library.impl(f"{namespace}::ccl", "CPU", label)
    torch.library.register_fake(f"{namespace}::ccl", fake)
    return getattr(torch.ops, namespace).ccl.default


def _refuse(mask: Tensor, connectivity: int) -> None:
    if mask.dim() not in (2, 3):
        raise ValueError(f"ccl: expected a mask of 2 or 3 axes, got {mask.dim()}")
    if not 1 <= connectivity <= mask.dim():
        raise ValueError(f"ccl: expected a connectivity of 1 to {mask.dim()}, got {connectivity}")
