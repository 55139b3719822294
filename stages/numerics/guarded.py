"""Tensors that may be read and no more, and that end, or begin, at a page that may not be touched:
writing to them, or reading past them, is a crash."""

import ctypes
import mmap

import torch
from torch import Tensor

_NO_ACCESS = 0
_PAGE = mmap.PAGESIZE


def guard(tensor: Tensor, at_end: bool) -> Tensor:
    """A read-only contiguous copy whose last (else first) byte borders on a forbidden page.

    Raises:
        OSError: the system does not let pages be protected.
    """
    num_bytes = tensor.numel() * tensor.element_size()
    if not num_bytes:
        return tensor.clone()
    num_pages = -(-num_bytes // _PAGE)
    memory = mmap.mmap(-1, (num_pages + 2) * _PAGE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    library = ctypes.CDLL(None, use_errno=True)

    def protect(page: int, count: int, access: int) -> None:
        place = ctypes.c_void_p(address + page * _PAGE)
        if library.mprotect(place, ctypes.c_size_t(count * _PAGE), access):
            raise OSError(ctypes.get_errno(), "mprotect failed")

    protect(0, 1, _NO_ACCESS)
    protect(num_pages + 1, 1, _NO_ACCESS)
    offset = _PAGE + (num_pages * _PAGE - num_bytes if at_end else 0)
    raw = torch.frombuffer(memory, dtype=torch.uint8, count=num_bytes, offset=offset)
    guarded = raw.view(tensor.dtype).view(tensor.shape)
    guarded.copy_(tensor)
    protect(1, num_pages, mmap.PROT_READ)
    return guarded
