"""Sums by index, over all lesions or regions at once.

Sums are in float64: in float32, `index_add_` loses 8e-5 of a background of 128^3 voxels.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from kernels.lesion_loss.arguments import MAX_LABEL, check_label_range, result_dtype
from kernels.lesion_loss.costs import blob_costs, mean_cost, regional_costs
from kernels.lesion_loss.voxels import Voxels, read_voxels


def lesion_voxels(
    logits: Tensor,
    target: Tensor,
    *,
    kind: str = "blob",
    regions: Tensor | None = None,
    spacing: Sequence[float] | None = None,
    ignore: Tensor | None = None,
    sample_weights: Tensor | None = None,
) -> Tensor:
    """Sum lesion voxels by index, a background densely, and regions into as short a table as fits.

    Not for `torch.compile(fullgraph=True)`: the number of lesion voxels depends on data.
    """
    voxels = read_voxels(logits, target, kind, regions, spacing, ignore, sample_weights)
    if voxels.slot.numel():
        smallest, largest = (int(label) for label in voxels.slot.aminmax())
        check_label_range(smallest, largest, "target" if regions is None else "regions")
    costs = _compact_blob(voxels) if kind == "blob" else _compact_regions(voxels)
    return mean_cost(costs, sample_weights).to(result_dtype(logits))


def all_voxels(
    logits: Tensor,
    target: Tensor,
    *,
    kind: str = "blob",
    regions: Tensor | None = None,
    spacing: Sequence[float] | None = None,
    ignore: Tensor | None = None,
    sample_weights: Tensor | None = None,
) -> Tensor:
    """Sum every voxel by index into a table of fixed width: no shape depends on data.

    Labels out of range raise from the indexing itself. Eager it is deterministic; compiled for the
    CPU, the sums may be atomic, and are then rounded in no fixed order.
    """
    voxels = read_voxels(logits, target, kind, regions, spacing, ignore, sample_weights)
    probability, slot = voxels.probability.double(), voxels.slot.long()
    nothing = probability.new_zeros(probability.shape[0], MAX_LABEL + 1)
    counted = voxels.counted.double()
    sums = nothing.scatter_add(1, slot, probability)
    sizes = nothing.scatter_add(1, slot, counted)
    if kind == "blob":
        is_lesion = torch.arange(MAX_LABEL + 1, device=sums.device) > 0
        costs = blob_costs(sums[:, 0], sums, sizes * is_lesion)
    else:
        lesion = voxels.is_lesion.double()
        costs = regional_costs(
            sums,
            nothing.scatter_add(1, slot, voxels.cross_entropy.double()),
            nothing.scatter_add(1, slot, probability * lesion),
            sizes,
            nothing.scatter_add(1, slot, lesion),
        )
    return mean_cost(costs, sample_weights).to(result_dtype(logits))


def _compact_blob(voxels: Voxels) -> Tensor:
    probability = voxels.probability
    background = torch.where(voxels.is_lesion, 0, probability).sum(1, dtype=torch.float64)
    inside, sizes = _sum_lesion_voxels(voxels, probability)
    return blob_costs(background, inside, sizes)


def _compact_regions(voxels: Voxels) -> Tensor:
    probability = voxels.probability
    num_samples, width = probability.shape[0], _width(voxels.slot)
    row = voxels.slot.long()
    if num_samples > 1:
        row = row + width * torch.arange(num_samples, device=row.device)[:, None]
    row = row.flatten()
    nothing = probability.new_zeros(num_samples * width, dtype=torch.float64)
    counted_row = row if voxels.is_counted is None else row[voxels.is_counted.flatten()]
    sums = (
        nothing.index_add(0, row, probability.flatten().double()),
        nothing.index_add(0, row, voxels.cross_entropy.flatten().double()),
    )
    inside, lesion_sizes = _sum_lesion_voxels(voxels, probability)
    sizes = torch.bincount(counted_row, minlength=len(nothing))
    shape = (num_samples, width)
    return regional_costs(
        sums[0].view(shape), sums[1].view(shape), inside, sizes.view(shape), lesion_sizes
    )


def _sum_lesion_voxels(voxels: Voxels, probability: Tensor) -> tuple[Tensor, Tensor]:
    """Sum of probability over the lesion voxels of each slot, and their number: both (N, K)."""
    sample, voxel = voxels.is_lesion.nonzero(as_tuple=True)
    width = _width(voxels.slot)
    row = sample * width + voxels.slot[sample, voxel].long()
    inside = probability[sample, voxel].double()
    sums = inside.new_zeros(probability.shape[0] * width).index_add(0, row, inside)
    sizes = torch.bincount(row, minlength=len(sums))
    shape = (probability.shape[0], width)
    return sums.view(shape), sizes.view(shape)


def _width(slot: Tensor) -> int:
    return int(slot.max()) + 1 if slot.numel() else 1
