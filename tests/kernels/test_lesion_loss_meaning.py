"""What the lesion-wise loss means: answers known by hand, and the faults seen in other losses."""

import pytest
import torch
from torch import Tensor

from kernels.lesion_loss.arguments import MAX_LABEL
from kernels.lesion_loss.cases import make_inputs
from kernels.lesion_loss.op import lesion_loss, voronoi_regions
from kernels.lesion_loss.reference import reference
from kernels.operator import Implementation
from tests.kernels.lesion_loss_checks import BOTH_KINDS, EVERY, value_and_gradient


def two_lesions() -> Tensor:
    """A large lesion and one of a single voxel."""
    target = torch.zeros(1, 1, 40, 40, dtype=torch.int32)
    target[0, 0, :20, :20] = 1
    target[0, 0, 30, 30] = 2
    return target


@EVERY
def test_missed_lesion_costs_one_and_found_lesion_nothing(call: Implementation) -> None:
    """A perfect answer is 0; missing one lesion of n costs 1 / n, whatever the sizes."""
    target = two_lesions()
    perfect = torch.where(target > 0, 100.0, -100.0)
    assert call(perfect, target).item() == pytest.approx(0, abs=1e-7)
    for missed in (1, 2):
        logits = torch.where(target == missed, -100.0, perfect)
        assert call(logits, target).item() == pytest.approx(0.5, abs=1e-7)


@EVERY
def test_regions_count_the_same_whatever_their_lesion(call: Implementation) -> None:
    """cc_dice_ce: a perfect answer is 0; missing a lesion adds 1 and its mean cross-entropy."""
    target = two_lesions()
    perfect = torch.where(target > 0, 100.0, -100.0)
    regions = torch.ones_like(target)
    regions[..., 20:] = 2
    options = {"kind": "cc_dice_ce", "regions": regions}
    assert call(perfect, target, **options).item() == pytest.approx(0, abs=1e-7)
    for missed, size in ((1, 400), (2, 1)):
        logits = torch.where(target == missed, -100.0, perfect)
        expected = (1 + 100 * size / 800) / 2
        assert call(logits, target, **options).item() == pytest.approx(expected, rel=1e-6)


@EVERY
def test_lesion_is_not_judged_on_its_neighbours(call: Implementation) -> None:
    """By hand: p = 1/2 everywhere, 4 background voxels, lesions of 1 and 3 voxels."""
    target = torch.tensor([0, 0, 0, 0, 1, 2, 2, 2], dtype=torch.int32).view(1, 1, 2, 4)
    dice_small = 2 * 0.5 / (2.5 + 1)
    dice_large = 2 * 1.5 / (3.5 + 3)
    expected = 1 - (dice_small + dice_large) / 2
    assert call(torch.zeros(1, 1, 2, 4), target).item() == pytest.approx(expected, rel=1e-6)


@EVERY
def test_masked_logits_do_not_count_as_undecided(call: Implementation) -> None:
    """The code published with blob loss lets a neighbour's voxels count as p = 1/2: not here.

    By hand, with two perfect lesions of 1 and 399 voxels: that code's Dice of the small one is
    2 / (1 + 399 / 2 + 1), so that it could never cost less than 0.99.
    """
    target = torch.full((1, 1, 20, 20), 2, dtype=torch.int32)
    target[0, 0, 0, 0] = 1
    assert call(torch.full((1, 1, 20, 20), 100.0), target).item() == pytest.approx(0, abs=1e-7)


@EVERY
def test_regions_are_those_of_the_nearest_lesion(call: Implementation) -> None:
    """By hand, on a line: p = 1/2, lesions at both ends, 3 voxels each; a tie goes to the first."""
    target = torch.tensor([1, 0, 0, 0, 2], dtype=torch.int32).view(1, 1, 1, 5)
    dice_first, dice_second = 2 * 0.5 / (1.5 + 1), 2 * 0.5 / (1.0 + 1)
    expected = 1 - (dice_first + dice_second) / 2 + torch.tensor(2.0).log().item()
    result = call(torch.zeros(1, 1, 1, 5), target, kind="cc_dice_ce")
    assert result.item() == pytest.approx(expected, rel=1e-6)


def test_spacing_moves_the_borders_between_regions() -> None:
    """Two lesions across a plane: the nearer one changes with the size of a voxel."""
    target = torch.zeros(1, 1, 5, 5, dtype=torch.int32)
    target[0, 0, 0, 2] = 1
    target[0, 0, 4, 4] = 2
    assert voronoi_regions(target)[0, 0, 2, 4] == 2
    assert voronoi_regions(target, (2.0, 1.0))[0, 0, 2, 4] == 2
    assert voronoi_regions(target, (1.0, 1.0))[0, 0, 1, 4] == 1
    assert voronoi_regions(target, (0.25, 1.0))[0, 0, 1, 4] == 2


@EVERY
def test_mask_is_one_lesion(call: Implementation) -> None:
    """Zeros and ones are one lesion in any number of pieces: soft Dice of the whole foreground."""
    logits, target = make_inputs((1, 1, 20, 30), ((4, 2, 1, 0),), seed=40)
    mask = (target > 0).to(torch.uint8)
    probability = torch.sigmoid(logits.double())
    dice = 2 * (probability * mask).sum() / (probability.sum() + mask.sum())
    assert call(logits, mask).item() == pytest.approx(1 - dice.item(), rel=1e-6)


@BOTH_KINDS
@EVERY
def test_samples_are_averaged(call: Implementation, kind: str) -> None:
    """The loss of a batch is the mean of the losses of its samples, or of their weighted losses."""
    logits, target = make_inputs((3, 1, 8, 9, 10), ((2, 1), (), (1, 1, 0)), seed=21)
    single = [call(logits[i : i + 1], target[i : i + 1], kind=kind).item() for i in range(3)]
    assert call(logits, target, kind=kind).item() == pytest.approx(sum(single) / 3, rel=1e-6)
    weights = torch.tensor([2.0, 0.25, 0.0])
    expected = (2 * single[0] + 0.25 * single[1]) / 3
    result = call(logits, target, kind=kind, sample_weights=weights)
    assert result.item() == pytest.approx(expected, rel=1e-6)


@BOTH_KINDS
@EVERY
def test_numbering_does_not_matter(call: Implementation, kind: str) -> None:
    """Permuted labels, with gaps, give the same loss and gradient."""
    logits, target = make_inputs((1, 1, 20, 30), ((4, 2, 1, 0, 0),), seed=22)
    renumbered = torch.tensor([0, 9, MAX_LABEL, 3, 1, 77], dtype=torch.int32)[target.long()]
    loss, gradient = value_and_gradient(call, logits, target, kind=kind)
    loss_again, gradient_again = value_and_gradient(call, logits, renumbered, kind=kind)
    torch.testing.assert_close(loss_again, loss, rtol=1e-6, atol=0)
    torch.testing.assert_close(gradient_again, gradient, rtol=1e-5, atol=1e-12)


@BOTH_KINDS
@EVERY
def test_ignored_voxels_might_as_well_not_be_there(call: Implementation, kind: str) -> None:
    """Cut off or ignored, NaN or not: the same loss, and no gradient."""
    logits, target = make_inputs((2, 1, 12, 30), ((2, 1), (2,)), seed=34)
    ignore = torch.zeros_like(target, dtype=torch.bool)
    ignore[..., 20:] = True
    expected, gradient = value_and_gradient(call, logits[..., :20], target[..., :20], kind=kind)
    logits[..., 20:] = torch.tensor([torch.nan, torch.inf, -torch.inf, 5.0, 0.0]).repeat(2)
    loss, whole = value_and_gradient(call, logits, target, kind=kind, ignore=ignore)
    torch.testing.assert_close(loss, expected, rtol=1e-6, atol=0)
    torch.testing.assert_close(whole[..., :20], gradient, rtol=1e-5, atol=1e-12)
    assert (whole[..., 20:] == 0).all()


@BOTH_KINDS
@EVERY
@pytest.mark.parametrize("place", [(0, 0, 0, 0), (0, 0, 5, 5)], ids=["background", "lesion"])
@pytest.mark.parametrize("radii", [(), (1,)], ids=["no_lesion", "one_lesion"])
def test_nan_is_not_hidden(
    call: Implementation, kind: str, place: tuple[int, ...], radii: tuple[int, ...]
) -> None:
    """One NaN among the logits makes the loss NaN."""
    logits = torch.randn(1, 1, 11, 40, generator=torch.Generator().manual_seed(24))
    target = torch.zeros(1, 1, 11, 40, dtype=torch.int32)
    for radius in radii:
        target[0, 0, 5 - radius : 6 + radius, 5 - radius : 6 + radius] = 1
    logits[place] = torch.nan
    assert torch.isnan(call(logits, target, kind=kind))


@EVERY
def test_infinite_logits_are_certain(call: Implementation) -> None:
    """Infinities count as p = 0 and 1, with a finite gradient."""
    target = torch.tensor([0, 0, 1, 1], dtype=torch.int32).view(1, 1, 1, 4)
    logits = torch.tensor([-torch.inf, torch.inf, torch.inf, -torch.inf]).view(1, 1, 1, 4)
    loss, gradient = value_and_gradient(call, logits, target)
    assert loss.item() == pytest.approx(0.5, rel=1e-6)
    assert (gradient == 0).all()


def test_infinite_cross_entropy_still_has_a_gradient() -> None:
    """A sure and wrong answer costs cc_dice_ce infinitely, and is pushed back by 1 / V."""
    target = torch.tensor([0, 0, 1, 1], dtype=torch.int32).view(1, 1, 1, 4)
    logits = torch.tensor([-torch.inf, torch.inf, torch.inf, -torch.inf]).view(1, 1, 1, 4)
    loss, gradient = value_and_gradient(lesion_loss, logits, target, kind="cc_dice_ce")
    assert loss.item() == torch.inf
    assert gradient.flatten().tolist() == [0, 0.25, 0, -0.25]


# Faults seen in peers.


@BOTH_KINDS
def test_fault_gradient_lost_through_numpy(kind: str) -> None:
    """Peers take the prediction apart in NumPy: here every logit has a gradient."""
    logits, target = make_inputs((2, 1, 12, 13, 14), ((3, 1), ()), seed=35, scale=1.0)
    loss, gradient = value_and_gradient(lesion_loss, logits, target, kind=kind)
    assert loss.item() > 0
    assert (gradient[target > 0] < 0).all()
    assert (gradient[target == 0] > 0).all()


@BOTH_KINDS
@EVERY
def test_fault_samples_without_a_lesion(call: Implementation, kind: str) -> None:
    """They are neither left out of the mean nor NaN, alone or beside others, ignored or not."""
    logits, target = make_inputs((2, 1, 9, 10), ((2,), ()), seed=36)
    both = call(logits, target, kind=kind).item()
    with_lesion = call(logits[:1], target[:1], kind=kind).item()
    without = call(logits[1:], target[1:], kind=kind).item()
    assert both == pytest.approx((with_lesion + without) / 2, rel=1e-6)
    assert 0 < without < torch.inf
    hidden = call(logits[:1], target[:1], kind=kind, ignore=target[:1] > 0)
    assert 0 < hidden.item() < torch.inf


@BOTH_KINDS
@EVERY
def test_fault_false_positives_are_free(call: Implementation, kind: str) -> None:
    """A false positive costs and is pushed down, far from a lesion or in a sample without."""
    target = torch.zeros(2, 1, 12, 12, dtype=torch.int32)
    target[0, 0, 1:3, 1:3] = 1
    silent = torch.where(target > 0, 20.0, -20.0)
    for sample in (0, 1):
        logits = silent.clone()
        logits[sample, 0, 9:11, 9:11] = 1.0
        loss, gradient = value_and_gradient(call, logits, target, kind=kind)
        assert loss.item() > call(silent, target, kind=kind).item() + 0.05
        assert (gradient[sample, 0, 9:11, 9:11] > 1e-3).all()


@EVERY
def test_false_positive_without_a_lesion_costs_as_promised(call: Implementation) -> None:
    """A sample without lesions costs S / (1 + S), and the mean cross-entropy for cc_dice_ce."""
    logits = torch.full((2, 1, 3, 4), -100.0)
    logits[1, 0, 1, :3] = 0
    target = torch.zeros(2, 1, 3, 4, dtype=torch.int32)
    assert call(logits, target).item() == pytest.approx(0.5 * 1.5 / 2.5, rel=1e-6)
    entropy = 3 / 12 * torch.tensor(2.0).log().item()
    result = call(logits, target, kind="cc_dice_ce").item()
    assert result == pytest.approx(0.5 * (1.5 / 2.5 + entropy), rel=1e-6)


@BOTH_KINDS
@EVERY
def test_fault_one_to_many_matches(call: Implementation, kind: str) -> None:
    """One predicted blob over two lesions, two pieces in one: no matching, each voxel counts."""
    target = torch.zeros(1, 1, 9, 30, dtype=torch.int32)
    target[0, 0, 3:6, 2:10] = 1
    target[0, 0, 3:6, 14:22] = 2
    perfect = torch.where(target > 0, 30.0, -30.0)
    bridged, split = perfect.clone(), perfect.clone()
    bridged[0, 0, 4, 10:14] = 30.0
    split[0, 0, 3:6, 5] = -30.0
    assert call(perfect, target, kind=kind).item() == pytest.approx(0, abs=1e-6)
    for logits, wrong in ((bridged, (target == 0)), (split, (target == 1))):
        loss, gradient = value_and_gradient(call, logits, target, kind=kind)
        expected = reference(logits, target, kind=kind).item()
        assert loss.item() == pytest.approx(expected, rel=1e-6)
        assert loss.item() > 0.01
        if kind == "cc_dice_ce":
            assert gradient[wrong].abs().max() > 1e-3
