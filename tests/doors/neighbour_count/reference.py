"""The truth, pixel by pixel."""

import torch
from torch import Tensor


def reference(mask: Tensor) -> Tensor:
    """Float64 counts of the mask's shape, (N, 1, rows, columns)."""
    inside = (mask != 0).double()
    counts = torch.zeros_like(inside)
    rows, columns = mask.shape[-2:]
    for row in range(rows):
        for column in range(columns):
            window = inside[..., max(row - 1, 0) : row + 2, max(column - 1, 0) : column + 2]
            counts[..., row, column] = window.sum((-2, -1)) - inside[..., row, column]
    return counts
