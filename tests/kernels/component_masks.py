"""What the labelling tests share: SciPy's answer, instruction sets, threads, memory layouts."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import permutations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import ndimage
from torch import Tensor

from kernels.connected_components import connected_components

LEVEL_VARIABLE = "BREAKEVEN_CPU_LEVEL"


def by_scipy(mask: Tensor, connectivity: int) -> Tensor:
    """SciPy's labels, int32, renumbered by the order in which they are met."""
    structure = ndimage.generate_binary_structure(mask.ndim, connectivity)
    found = ndimage.label(mask.numpy() != 0, structure=structure)[0]
    labels: NDArray[np.int32] = found.ravel()
    values, firsts = np.unique(labels, return_index=True)
    numbers = np.zeros(int(labels.max(initial=0)) + 1, dtype=np.int32)
    in_order = values[np.argsort(firsts)]
    in_order = in_order[in_order > 0]
    numbers[in_order] = np.arange(1, len(in_order) + 1, dtype=np.int32)
    return torch.from_numpy(numbers[labels]).reshape(mask.shape)


def _has_level(level: str) -> bool:
    before = os.environ.get(LEVEL_VARIABLE)
    os.environ[LEVEL_VARIABLE] = level
    try:
        connected_components(torch.ones(1))
    except RuntimeError as error:
        if "this machine has no" not in str(error):
            raise
        return False
    finally:
        _restore(before)
    return True


def _restore(before: str | None) -> None:
    if before is None:
        os.environ.pop(LEVEL_VARIABLE, None)
    else:
        os.environ[LEVEL_VARIABLE] = before


def at_each_level() -> Iterator[str]:
    """Every instruction set of this machine, forced for the body of the loop."""
    before = os.environ.get(LEVEL_VARIABLE)
    try:
        for level in LEVELS:
            os.environ[LEVEL_VARIABLE] = level
            yield level
    finally:
        _restore(before)


LEVELS = tuple(level for level in ("portable", "avx2", "avx512") if _has_level(level))


@contextmanager
def with_threads(threads: int) -> Iterator[None]:
    """So many threads within it, whatever the machine has."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def layouts(tensor: Tensor) -> Iterator[tuple[str, Tensor]]:
    """The same values in other memory layouts."""
    for order in permutations(range(tensor.ndim)):
        inverse = [order.index(axis) for axis in range(tensor.ndim)]
        yield f"axes {order}", tensor.permute(order).contiguous().permute(inverse)
    stepped = tensor.new_zeros([2 * size for size in tensor.shape])
    stepped = stepped[tuple(slice(1, None, 2) for _ in tensor.shape)]
    stepped.copy_(tensor)
    yield "stepped", stepped
    wide = tensor.new_zeros([size + 3 for size in tensor.shape])
    cropped = wide[tuple(slice(1, size + 1) for size in tensor.shape)]
    cropped.copy_(tensor)
    yield "cropped", cropped
    shifted = torch.cat([tensor.new_zeros(1), tensor.reshape(-1)])[1:].view(tensor.shape)
    yield "shifted", shifted
