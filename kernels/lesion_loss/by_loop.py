"""One masked loss for each lesion, as the published codes loop over lesions."""

from collections.abc import Sequence

import torch
from torch import Tensor

from kernels.lesion_loss.arguments import check_label_range, result_dtype
from kernels.lesion_loss.costs import empty_cost, mean_cost
from kernels.lesion_loss.voxels import Voxels, read_voxels


def lesion_loop(
    logits: Tensor,
    target: Tensor,
    *,
    kind: str = "blob",
    regions: Tensor | None = None,
    spacing: Sequence[float] | None = None,
    ignore: Tensor | None = None,
    sample_weights: Tensor | None = None,
) -> Tensor:
    """Mask and sum once for each lesion or region.

    Not for `torch.compile(fullgraph=True)`: the number of lesions depends on data.
    """
    voxels = read_voxels(logits, target, kind, regions, spacing, ignore, sample_weights)
    cost_of = _blob_cost if kind == "blob" else _regional_cost
    name = "regions" if regions is not None else "target"
    costs = [cost_of(sample, _present(sample.slot, name)) for sample in _samples(voxels)]
    all_costs = torch.stack(costs) if costs else voxels.logit.sum(1, dtype=torch.float64)
    return mean_cost(all_costs, sample_weights).to(result_dtype(logits))


def _samples(voxels: Voxels) -> list[Voxels]:
    counted = voxels.counted
    return [
        Voxels(voxels.logit[n], voxels.slot[n], voxels.is_lesion[n], counted[n])
        for n in range(len(voxels.logit))
    ]


def _present(slot: Tensor, name: str) -> Tensor:
    present: Tensor = torch.unique(slot)
    if present.numel():
        check_label_range(int(present[0]), int(present[-1]), name)
    return present[present > 0]


def _blob_cost(sample: Voxels, lesions: Tensor) -> Tensor:
    probability = sample.probability
    costs: list[Tensor] = []
    for lesion in lesions:
        is_lesion = sample.slot == lesion
        judged = probability * (is_lesion | (sample.slot == 0))
        inside = (judged * is_lesion).sum(dtype=torch.float64)
        costs.append(1 - 2 * inside / (judged.sum(dtype=torch.float64) + is_lesion.sum()))
    if costs:
        return torch.stack(costs).mean()
    return empty_cost(probability.sum(dtype=torch.float64))


def _regional_cost(sample: Voxels, regions: Tensor) -> Tensor:
    probability, cross_entropy = sample.probability, sample.cross_entropy

    def cost_within(here: Tensor) -> Tensor:
        lesion = sample.is_lesion & here
        total = torch.where(here, probability, 0).sum(dtype=torch.float64)
        entropy = torch.where(here, cross_entropy, 0).sum(dtype=torch.float64)
        inside = torch.where(lesion, probability, 0).sum(dtype=torch.float64)
        dice_cost = 1 - 2 * inside / (total + lesion.sum()) if lesion.any() else empty_cost(total)
        return dice_cost + entropy / here.sum()

    costs: list[Tensor] = []
    for region in regions:
        here = sample.counted & (sample.slot == region)
        if here.any():
            costs.append(cost_within(here))
    if costs:
        return torch.stack(costs).mean()
    if sample.counted.any():  # without regions the whole sample is one
        return cost_within(sample.counted)
    return probability.sum(dtype=torch.float64)
