"""The truth, readable and slow: each lesion by itself, in float64.

The target numbers the lesions of each sample: 0 is background, equal numbers are one lesion. A mask
of zeros and ones is one lesion, however many pieces it has: number them first, with
`kernels.connected_components`. Only counted voxels take part, those not in `ignore`; with p =
sigmoid(logits), each sample costs:

**blob**: the mean of 1 - dice_n over its lesions, each judged on the voxels that are background or
of lesion n:

    dice_n = 2 * sum of p over n / (sum of p over background and n + number of voxels of n)

**cc_dice_ce**: the mean over its regions of 1 - dice_r + ce_r. A region r has the voxels that are
nearer to one lesion than to any other (Voronoi), so that every voxel is judged once:

    dice_r = 2 * sum of p over the lesion voxels of r
               / (sum of p over r + number of lesion voxels of r)
    ce_r = mean over r of -log p for lesion voxels, -log(1 - p) for all others

Both: no lesion, here or in a region, costs S / (1 + S) in place of 1 - dice, with S the sum of p:
soft Dice against an empty mask, smoothed by one voxel, so that a false positive is never free. A
sample without lesions is one region. A sample or batch without counted voxels costs 0.

The loss is the mean over samples of weight times cost. Weights are factors, not shares: dividing by
their sum would make a batch cost something else than the mean of its halves, and fail on zeros.

Where this differs from the published code, and why:

- blob loss (github.com/neuronflow/blob_loss) masks other lesions by multiplying the *logits* by 0,
  after which they still count as p = 0.5 in the denominator: a lesion's loss then depends on how
  large its neighbours are. Here, as in the paper's text, masked voxels are in no sum.
- blob loss leaves samples without lesions out, and 1 - dice of CC-DiceCE is 1 for them, without a
  gradient: false positives there are free, or pushed back by the cross-entropy alone.
- There is no smoothing term for a lesion: it has at least one voxel, so nothing divides by zero,
  and missing it costs 1 whatever its size; one voxel of smoothing would let a missed lesion of one
  voxel off with a half.
- CC-DiceCE clamps p to 1e-7, after which a sure and wrong answer has no gradient. Here the
  cross-entropy comes from the logits, and grows with them: it is infinite for an infinite one.
- CC-DiceCE takes softmax of two channels; one logit is their difference, and p is the same.
- Only the lesion-wise term is computed: both papers add it to a loss over the whole volume.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from kernels.lesion_loss.arguments import check_arguments, check_label_range


def reference(
    logits: Tensor,
    target: Tensor,
    *,
    kind: str = "blob",
    regions: Tensor | None = None,
    spacing: Sequence[float] | None = None,
    ignore: Tensor | None = None,
    sample_weights: Tensor | None = None,
) -> Tensor:
    """Compute the loss.

    Args:
        logits: (N, 1, H, W) or (N, 1, D, H, W), of a floating dtype; any value, NaN gives NaN.
        target: of the same shape, int32, int64 or uint8: 0 for background, 1 to 16383 for the
            lesions of each sample, in any order. Absent numbers do not count, as after a crop.
        kind: "blob" or "cc_dice_ce".
        regions: for "cc_dice_ce", of the same shape, int16, int32, int64 or uint8: the region of
            each voxel, 1 to 16383; voxels of 0 are in no sum, unless a sample has nothing else.
            The target is then read as a mask, target != 0, and may be bool. Without it: the number
            of the nearest counted lesion voxel, of the first in memory among equally near ones.
        spacing: for "cc_dice_ce" without regions, the size of a voxel along each spatial axis.
        ignore: bool, of the same shape: true where a voxel is in no sum and has no gradient. A
            lesion whose voxels are all ignored is absent.
        sample_weights: (N,), float32 or float64; without them, 1 for each sample.

    Returns:
        Scalar, float64, >= 0. Differentiable with respect to the logits.

    Raises:
        ValueError: kind, dtype, shape, options that do not go together, a label out of range.
    """
    check_arguments(logits, target, kind, regions, spacing, ignore, sample_weights)
    counted = torch.ones_like(target, dtype=torch.bool) if ignore is None else ~ignore
    if regions is None:
        _check_labels(target, "target")
    else:
        _check_labels(regions, "regions")
    if kind == "cc_dice_ce" and regions is None:
        regions = voronoi_regions(target * counted, spacing)
    costs = []
    for n in range(logits.shape[0]):
        kept = counted[n]
        logit, truth = logits[n][kept].double(), target[n][kept]
        costs.append(
            _blob_cost(logit, truth)
            if regions is None
            else _regional_cost(logit, truth != 0, regions[n][kept])
        )
    if not costs:
        return logits.double().sum()
    cost = torch.stack(costs)
    return (cost if sample_weights is None else cost * sample_weights.double()).mean()


def voronoi_regions(target: Tensor, spacing: Sequence[float] | None = None) -> Tensor:
    """Number of the lesion voxel nearest to each voxel; 0 throughout a sample without lesions.

    Squared distances add up over the axes, so that the nearest can be sought along one after the
    other; among equally near ones it is the first in memory.
    """
    steps = spacing if spacing is not None else (1.0,) * (target.ndim - 2)
    regions = torch.empty_like(target)
    for n, labels in enumerate(target[:, 0]):
        squared = torch.zeros(labels.shape, dtype=torch.float64).masked_fill(labels == 0, torch.inf)
        place = torch.arange(labels.numel()).view(labels.shape)
        for axis, step in enumerate(steps):
            squared, place = _nearest_along(squared, place, axis, step)
        regions[n, 0] = labels.flatten()[place]
    return regions


def _nearest_along(squared: Tensor, place: Tensor, axis: int, step: float) -> tuple[Tensor, Tensor]:
    """The least squared distance and the first place that has it, over one axis."""
    lines, places = squared.movedim(axis, -1), place.movedim(axis, -1)
    position = torch.arange(lines.shape[-1], dtype=torch.float64) * step
    least, first = torch.empty_like(lines), torch.empty_like(places)
    for q in range(lines.shape[-1]):
        candidates = lines + (position - position[q]) ** 2
        least[..., q] = candidates.amin(-1)
        is_nearest = candidates == least[..., q, None]
        first[..., q] = places.masked_fill(~is_nearest, squared.numel()).amin(-1)
    return least.movedim(-1, axis), first.movedim(-1, axis)


def _blob_cost(logit: Tensor, labels: Tensor) -> Tensor:
    """Cost of a sample's counted voxels; both (V,)."""
    lesions = sorted(set(labels.tolist()) - {0})
    if not lesions:
        return _dice_cost(logit, labels != 0)
    costs = []
    for lesion in lesions:
        judged = (labels == 0) | (labels == lesion)
        costs.append(_dice_cost(logit[judged], labels[judged] == lesion))
    return torch.stack(costs).mean()


def _regional_cost(logit: Tensor, is_lesion: Tensor, regions: Tensor) -> Tensor:
    """Mean cost of the regions among a sample's counted voxels; all (V,)."""
    present = sorted(set(regions.tolist()) - {0}) or [0]
    if not logit.numel():
        return logit.sum()
    costs = []
    for region in present:
        here = regions == region
        sign = torch.where(is_lesion[here], 1.0, -1.0)
        cross_entropy = -logsigmoid(sign * logit[here]).mean()
        costs.append(_dice_cost(logit[here], is_lesion[here]) + cross_entropy)
    return torch.stack(costs).mean()


def _dice_cost(logit: Tensor, is_lesion: Tensor) -> Tensor:
    """1 - soft Dice, or S / (1 + S) where there is no lesion."""
    # sigmoid(x) itself has the derivative p (1 - p), which is 0 as soon as p rounds to 1.
    probability = logsigmoid(logit).exp()
    if not is_lesion.any():
        return probability.sum() / (1 + probability.sum())
    inside = probability[is_lesion].sum()
    return 1 - 2 * inside / (probability.sum() + is_lesion.sum())


def _check_labels(labels: Tensor, name: str) -> None:
    if labels.numel():
        check_label_range(int(labels.min()), int(labels.max()), name)
