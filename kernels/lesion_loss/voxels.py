"""What the compositions make of their arguments before they sum."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from kernels.lesion_loss.arguments import check_arguments, result_dtype
from kernels.lesion_loss.by_nearest import voronoi_regions


@dataclass(frozen=True)
class Voxels:
    """Voxels of N samples, flat, each tensor (N, V); ignored ones have p = 0 and are no lesion."""

    logit: Tensor
    """In the result's dtype: half precision would round probabilities too far."""
    slot: Tensor
    """Number of the lesion for "blob", of the region for "cc_dice_ce"."""
    is_lesion: Tensor
    is_counted: Tensor | None
    """None where nothing is ignored."""

    @property
    def probability(self) -> Tensor:
        """Probability of a lesion."""
        return torch.sigmoid(self.logit)

    @property
    def cross_entropy(self) -> Tensor:
        """-log of the probability of the right answer."""
        return -logsigmoid(torch.where(self.is_lesion, self.logit, -self.logit))

    @property
    def counted(self) -> Tensor:
        """Whether a voxel is in the sums."""
        return torch.ones_like(self.is_lesion) if self.is_counted is None else self.is_counted


def read_voxels(
    logits: Tensor,
    target: Tensor,
    kind: str,
    regions: Tensor | None,
    spacing: Sequence[float] | None,
    ignore: Tensor | None,
    sample_weights: Tensor | None,
) -> Voxels:
    """Check the arguments and compute regions where they are needed.

    Raises:
        ValueError: see `arguments.check_arguments`.
    """
    check_arguments(logits, target, kind, regions, spacing, ignore, sample_weights)
    logit = logits.to(result_dtype(logits))
    if ignore is not None:
        logit = logit.masked_fill(ignore, -torch.inf)
        target = target.masked_fill(ignore, 0)
    if kind == "blob":
        slot = target
    else:
        slot = voronoi_regions(target, spacing) if regions is None else regions
    return Voxels(
        logit.flatten(1),
        slot.flatten(1),
        (target != 0).flatten(1),
        None if ignore is None else ~ignore.flatten(1),
    )
