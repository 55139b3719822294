"""From sums over background, lesions and regions to the loss, for the compositions."""

import torch
from torch import Tensor


def mean_cost(costs: Tensor, sample_weights: Tensor | None) -> Tensor:
    """Mean of weight times cost over samples; 0 without samples."""
    if not costs.numel():
        return costs.sum()
    return (costs if sample_weights is None else costs * sample_weights).mean()


def empty_cost(probability: Tensor) -> Tensor:
    """S / (1 + S), where there is no lesion."""
    return probability / (1 + probability)


def blob_costs(background: Tensor, inside: Tensor, sizes: Tensor) -> Tensor:
    """Cost of each sample (N,).

    Args:
        background: sum of probability over the background, (N,).
        inside: the same over each lesion, (N, K).
        sizes: number of voxels of each lesion, (N, K); one of 0 is absent.
    """
    is_present = sizes > 0
    outside = background[:, None]
    costs = (outside + sizes - inside) / (outside + sizes + inside + ~is_present)
    num_lesions = is_present.sum(1)
    mean = (costs * is_present).sum(1) / num_lesions.clamp(min=1)
    return torch.where(num_lesions > 0, mean, empty_cost(background))


def regional_costs(
    probability: Tensor, entropy: Tensor, inside: Tensor, sizes: Tensor, lesion_sizes: Tensor
) -> Tensor:
    """Cost of each sample (N,), from sums over each region (N, K), the first of which is none.

    Args:
        probability: sum of probability.
        entropy: sum of cross-entropy.
        inside: sum of probability over lesion voxels.
        sizes: number of voxels; a region of 0 is absent.
        lesion_sizes: number of lesion voxels.
    """
    has_regions = (sizes[:, 1:] > 0).any(1, keepdim=True)
    is_region = torch.arange(sizes.shape[1], device=sizes.device) > 0
    # Without regions the whole sample, number 0, is one.
    is_present = (sizes > 0) & (is_region | ~has_regions)
    has_lesion = lesion_sizes > 0
    whole = probability + lesion_sizes
    dice_cost = (whole - 2 * inside) / (whole + ~has_lesion)
    cost = torch.where(has_lesion, dice_cost, empty_cost(probability)) + entropy / sizes.clamp(
        min=1
    )
    # Not by a product: an absent region's cost may be infinite.
    return torch.where(is_present, cost, 0).sum(1) / is_present.sum(1).clamp(min=1)
