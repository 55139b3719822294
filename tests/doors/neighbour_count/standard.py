"""Two standard compositions."""

import torch
from torch import Tensor

from kernels.operator import Composition


def by_convolution(mask: Tensor) -> Tensor:
    """One convolution with a ring of ones."""
    ring = torch.ones(1, 1, 3, 3, device=mask.device)
    ring[..., 1, 1] = 0
    return torch.nn.functional.conv2d((mask != 0).float(), ring, padding=1)


def by_shifts(mask: Tensor) -> Tensor:
    """Nine shifted views of the padded mask."""
    inside = (mask != 0).float()
    rows, columns = mask.shape[-2:]
    padded = torch.nn.functional.pad(inside, (1, 1, 1, 1))
    shifted = [padded[..., i : i + rows, j : j + columns] for i in range(3) for j in range(3)]
    return torch.stack(shifted).sum(0) - inside


COMPOSITIONS = (
    Composition("convolution", by_convolution, "one convolution"),
    Composition("shifts", by_shifts, "nine shifted views"),
)
