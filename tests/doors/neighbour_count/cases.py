"""Named inputs."""

from typing import Any

import torch

from kernels.operator import OperatorCase


def random_mask(rows: int, columns: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A seeded mask, half foreground."""
    generator = torch.Generator().manual_seed(rows * columns)
    return (torch.rand(1, 1, rows, columns, generator=generator) > 0.5,), {}


CASES = (
    OperatorCase("square", lambda: random_mask(9, 9)),
    OperatorCase("row", lambda: random_mask(1, 17)),
    OperatorCase("all foreground", lambda: ((torch.ones(2, 1, 5, 4, dtype=torch.uint8),), {})),
)
