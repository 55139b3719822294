"""The operator in Python: separable sums."""

import torch
from torch import Tensor


@torch.library.custom_op("breakeven_doors::neighbour_count", mutates_args=())
def neighbour_count(mask: Tensor) -> Tensor:
    """Float32 counts of the mask's shape, (N, 1, rows, columns)."""
    inside = (mask != 0).float()
    rows, columns = mask.shape[-2:]
    padded = torch.nn.functional.pad(inside, (1, 1, 1, 1))
    across = sum(padded[..., :, j : j + columns] for j in range(3))
    return (sum(across[..., i : i + rows, :] for i in range(3)) - inside).contiguous()


@neighbour_count.register_fake
def _(mask: Tensor) -> Tensor:
    return mask.new_empty(mask.shape, dtype=torch.float32)
