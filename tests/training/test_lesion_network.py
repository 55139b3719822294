"""Network and loss of the bundled workload."""

from dataclasses import replace

import pytest
import torch
from blob_cases import make_shape

from stages.contract import InputError
from stages.training.lesion_segmentation import make
from stages.training.lesion_segmentation.loss import dice_cross_entropy
from stages.training.lesion_segmentation.model import Normalise


def test_normalisation_looks_at_nonzero_voxels_alone() -> None:
    """Mean 0 and deviation 1 over the inside, each channel for itself; padding stays 0."""
    generator = torch.Generator().manual_seed(0)
    inside = torch.rand(2, 3, 9, 9, generator=generator) * 50 + 100
    image = torch.nn.functional.pad(inside, (0, 4))
    result = Normalise()(image)
    assert not result[..., 9:].any()
    assert torch.allclose(result[..., :9].mean((2, 3)), torch.zeros(2, 3), atol=1e-5)
    assert torch.allclose(result[..., :9].std((2, 3), correction=0), torch.ones(2, 3), atol=1e-5)


@pytest.mark.parametrize("image", [torch.zeros(1, 1, 4, 4), torch.full((1, 1, 4, 4), 7.0)])
def test_an_image_without_contrast_becomes_zero(image: torch.Tensor) -> None:
    """No division by zero on an empty or a constant image."""
    assert torch.equal(Normalise()(image), torch.zeros(1, 1, 4, 4))


def test_the_answer_does_not_depend_on_scale_and_shift() -> None:
    """Scanners have no common scale; the image here has no zeros."""
    model = make().make_model(make_shape()).eval()
    image = torch.rand(1, 1, 16, 16, 16, generator=torch.Generator().manual_seed(0)) + 1
    assert torch.allclose(model(image), model(300 * image + 50), atol=1e-4)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("spatial", [(16, 16, 16), (32, 16)])
def test_logits_have_one_channel_a_class(spatial: tuple[int, ...], training: bool) -> None:
    """In training and out of it, in 3-D and 2-D, for one case and several."""
    model = make().make_model(make_shape(spatial, num_classes=3)).train(training)
    for num_cases in (1, 2):
        assert model(torch.rand(num_cases, 1, *spatial)).shape == (num_cases, 3, *spatial)


def test_a_mirrored_case_gets_the_mirrored_answer() -> None:
    """Out of training the answer is the mean over the image and its mirror image."""
    model = make().make_model(make_shape()).eval()
    image = torch.rand(1, 1, 16, 16, 16, generator=torch.Generator().manual_seed(0))
    assert torch.allclose(model(image.flip(2)), model(image).flip(2), atol=1e-5)


@pytest.mark.parametrize("working_shape", [(16, 20, 16), (8, 16, 16)])
def test_shapes_that_do_not_halve_are_refused(working_shape: tuple[int, ...]) -> None:
    """The message names the parameter and what it must hold."""
    with pytest.raises(InputError, match=r"training\.working_shape must hold multiples of 8"):
        make().make_model(replace(make_shape(), working_shape=working_shape))


def test_a_sure_and_right_answer_costs_nothing() -> None:
    """Cross-entropy and Dice are both 0 then, and 0.69 + 0.5 or more for an undecided one."""
    label = torch.zeros(2, 1, 8, 8, dtype=torch.int64)
    label[:, :, 2:5, 2:5] = 1
    sure = torch.cat((1 - label, label), 1) * 100.0
    assert dice_cross_entropy(sure, label).item() == pytest.approx(0, abs=1e-5)
    # By hand: 9 of 64 voxels, probability 1/2: Dice 2 * 4.5 / (32 + 9).
    expected = 0.693147 + 1 - 9 / 41
    assert dice_cross_entropy(torch.zeros(2, 2, 8, 8), label).item() == pytest.approx(
        expected, abs=1e-5
    )


def test_the_lesion_term_is_added_where_the_operator_is_there() -> None:
    """It gets the foreground logit and the instances; without a handle the term is left out."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(1, 3, 8, 8, generator=generator, requires_grad=True)
    label = torch.zeros(1, 1, 8, 8, dtype=torch.int64)
    label[:, :, 2:5, 2:5] = 1
    batch = {"label": label, "instances": label.to(torch.int32), "image": torch.zeros(1, 1, 8, 8)}
    from kernels.lesion_loss.standard import COMPOSITIONS

    call = COMPOSITIONS[0].call
    without = make().make_loss({})(logits, batch)
    combined = make().make_loss({"lesion_loss": call})(logits, batch)
    probability = torch.softmax(logits, 1)[:, 1:].sum(1, keepdim=True)
    term = call(torch.logit(probability.double()), batch["instances"])
    assert (combined - without).item() == pytest.approx(term.item(), abs=1e-5)
    combined.backward()
    assert logits.grad is not None
    assert torch.isfinite(logits.grad).all()
    assert logits.grad.abs().sum() > 0
