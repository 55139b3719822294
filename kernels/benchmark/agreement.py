"""Do two results agree? Each comparison gives None, or in words what differs."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

CLOSE_RELATIVE = 1e-5
"""Peers sum squares in float32; what is wrong is wrong by far more."""
GRADIENT_RELATIVE = 1e-3
"""Of the largest gradient; peers sum a whole background in float32."""
LOSS_RELATIVE = 1e-3


def as_array(value: object) -> NDArray[np.generic]:
    """A tensor or an array, as an array."""
    return value.detach().numpy() if isinstance(value, Tensor) else np.asarray(value)


def same_components(ours: object, theirs: object) -> str | None:
    """Whether two labellings part the foreground alike, however they number the parts.

    Of a batch, (N, 1, D, H, W), volume by volume; the other one may be a list of volumes.
    """
    mine, other = as_array(ours), as_array(theirs)
    if mine.size != other.size:
        return f"{other.size} voxels instead of {mine.size}"
    volume_shape = mine.shape[-3:]
    pairs = zip(mine.reshape(-1, *volume_shape), other.reshape(-1, *volume_shape), strict=True)
    differences = (_same_partition(one.ravel(), another.ravel()) for one, another in pairs)
    return next((difference for difference in differences if difference is not None), None)


def _same_partition(mine: NDArray[Any], other: NDArray[Any]) -> str | None:
    count, other_count = int(mine.max(initial=0)), int(other.max(initial=0))
    if np.array_equal(mine, other):
        return None
    # In their numbering a gap may be; what counts is how many of the numbers occur.
    number_of = np.zeros(other_count + 1, mine.dtype)
    number_of[other] = mine
    if not np.array_equal(number_of[other], mine):
        return f"parts the foreground otherwise (highest label {other_count}, ours {count})"
    occurring = np.count_nonzero(np.bincount(other)[1:])
    return None if occurring == count else f"{occurring} components instead of {count}"


def close(ours: object, theirs: object) -> str | None:
    """Whether two fields of distances agree as far as float32 goes."""
    mine, other = as_array(ours), as_array(theirs)
    if mine.size != other.size:
        return f"{other.size} values instead of {mine.size}"
    mine, other = mine.ravel(), other.ravel()
    # A part at a time: float64 copies of a whole volume would not fit.
    worst = 0.0
    for start in range(0, mine.size, 1 << 22):
        part = mine[start : start + (1 << 22)].astype(np.float64)
        theirs_part = other[start : start + (1 << 22)].astype(np.float64)
        differs = part != theirs_part
        part, theirs_part = part[differs], theirs_part[differs]
        with np.errstate(invalid="ignore"):  # infinite distances
            relative = np.abs(theirs_part - part) / np.maximum(np.abs(part), 1e-6)
        worst = max(worst, float(np.nan_to_num(relative, nan=np.inf).max(initial=0)))
    return None if worst <= CLOSE_RELATIVE else f"off by up to {worst:.1%}"


def same_loss(ours: tuple[Tensor, Tensor], theirs: tuple[Tensor, Tensor]) -> str | None:
    """Whether two losses and their gradients agree."""
    loss, other_loss = float(ours[0]), float(theirs[0])
    if abs(other_loss - loss) > LOSS_RELATIVE * abs(loss):
        return f"loss {other_loss:.6g} instead of {loss:.6g}"
    scale = float(ours[1].abs().max())
    worst = float((theirs[1] - ours[1]).abs().max()) / max(scale, 1e-30)
    return (
        None if worst <= GRADIENT_RELATIVE else f"gradient off by up to {worst:.1%} of the largest"
    )


def same_values(ours: object, theirs: object) -> str | None:
    """Whether results of any structure agree to a thousandth of their largest value."""
    mine, other = _parts(ours), _parts(theirs)
    if len(mine) != len(other):
        return f"{len(other)} results instead of {len(mine)}"
    for one, another in zip(mine, other, strict=True):
        if one.shape != another.shape:
            return f"shape {tuple(another.shape)} instead of {tuple(one.shape)}"
        close_enough = torch.isclose(
            one.double(), another.double(), rtol=1e-3, atol=1e-6, equal_nan=True
        )
        if not bool(close_enough.all()):
            return f"differs at {int((~close_enough).sum())} of {one.numel()} places"
    return None


def _parts(result: object) -> list[Tensor]:
    parts = result if isinstance(result, tuple | list) else (result,)
    return [torch.as_tensor(part).detach() for part in parts]
