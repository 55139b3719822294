"""The lesion-wise loss: values and gradients, on every dtype, layout and number of threads."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.lesion_loss.cases import BLOCK, CASES, make_inputs
from kernels.lesion_loss.op import lesion_loss, voronoi_regions
from kernels.lesion_loss.reference import reference
from kernels.lesion_loss.standard import lesion_voxels
from kernels.operator import Implementation, OperatorCase
from tests.kernels.lesion_loss_checks import (
    BOTH_KINDS,
    EVERY,
    IMPLEMENTATIONS,
    assert_close,
    value_and_gradient,
)


@pytest.fixture
def _restored_threads() -> Iterator[None]:
    num_threads = torch.get_num_threads()
    yield
    torch.set_num_threads(num_threads)


@EVERY
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_value_and_gradient_equal_the_reference(call: Implementation, case: OperatorCase) -> None:
    """Every implementation agrees with float64 autograd of the reference."""
    (logits, target), options = case.make()
    assert_close(call, logits, target, **options)


@BOTH_KINDS
@pytest.mark.parametrize("target_dtype", [torch.int32, torch.int64, torch.uint8], ids=str)
@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16], ids=str
)
def test_every_dtype(dtype: torch.dtype, target_dtype: torch.dtype, kind: str) -> None:
    """Every dtype is exact up to its own rounding; the loss is never in half precision."""
    logits, target = make_inputs((2, 1, 9, 10, 33), ((2, 1, 1), ()), seed=20)
    logits, target = logits.to(dtype), target.to(target_dtype)
    assert_close(lesion_loss, logits, target, kind=kind)
    loss, gradient = value_and_gradient(lesion_loss, logits, target, kind=kind)
    assert loss.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    assert gradient.dtype == dtype


@pytest.mark.parametrize("dtype", [torch.int16, torch.int32, torch.int64, torch.uint8], ids=str)
def test_every_dtype_of_regions(dtype: torch.dtype) -> None:
    """Regions of any accepted dtype are the same regions."""
    logits, target = make_inputs((2, 1, 9, 10, 33), ((2, 1, 1), ()), seed=20)
    regions = voronoi_regions(target)
    expected = lesion_loss(logits, target, kind="cc_dice_ce", regions=regions)
    result = lesion_loss(logits, target, kind="cc_dice_ce", regions=regions.to(dtype))
    assert torch.equal(result, expected)


@BOTH_KINDS
def test_gradients_of_each_element_are_accurate_at_large_logits(kind: str) -> None:
    """The gradient keeps its relative accuracy where the sigmoid has rounded to 0 or 1."""
    logits = torch.linspace(-85, 85, 2001).view(1, 1, 1, -1)
    target = (torch.arange(2001).view(1, 1, 1, -1) // 400 % 3).int()
    _, gradient = value_and_gradient(lesion_loss, logits, target, kind=kind)
    _, expected = value_and_gradient(reference, logits.double(), target, kind=kind)
    torch.testing.assert_close(gradient.double(), expected, rtol=2e-6, atol=1e-38)


@BOTH_KINDS
@EVERY
def test_incoming_gradient_is_honoured(call: Implementation, kind: str) -> None:
    """A loss scaled by a power of two has a gradient scaled by it, exactly."""
    logits, target = make_inputs((1, 1, 20, 30), ((4, 2, 1),), seed=23)
    _, gradient = value_and_gradient(call, logits, target, kind=kind)
    _, scaled = value_and_gradient(call, logits, target, kind=kind, scale=-1024.0)
    torch.testing.assert_close(scaled, -1024 * gradient, rtol=1e-6, atol=0)


@BOTH_KINDS
@pytest.mark.usefixtures("_restored_threads")
def test_bitwise_equal_over_repeats_and_threads(kind: str) -> None:
    """Loss and gradient are the same bits whatever the number of threads."""
    logits, target = make_inputs((2, 1, 40, 41, 42), ((4,) + (1,) * 30, (2, 2)), seed=25)
    options: dict[str, Any] = {"kind": kind}
    if kind == "cc_dice_ce":
        options["regions"] = voronoi_regions(target)
    loss, gradient = value_and_gradient(lesion_loss, logits, target, **options)
    for num_threads in (1, 2, 3, 5, 1):
        torch.set_num_threads(num_threads)
        loss_again, gradient_again = value_and_gradient(lesion_loss, logits, target, **options)
        assert torch.equal(loss, loss_again)
        assert torch.equal(gradient, gradient_again)


def test_large_background_is_summed_accurately() -> None:
    """At 128^3 the loss is within 1e-7 of float64, where float32 sums are off by 8e-5."""
    logits, target = make_inputs((1, 1, 128, 128, 128), ((6, 2, 1),), seed=26)
    expected = reference(logits, target).item()
    assert lesion_loss(logits, target).item() == pytest.approx(expected, rel=1e-7)


@BOTH_KINDS
def test_every_label_has_a_lesion(kind: str) -> None:
    """All 16 383 lesions at once, a part of each in every block, in value and gradient.

    The truth is a composition in float64: the reference loops over lesions.
    """
    generator = torch.Generator().manual_seed(33)
    target = torch.arange(2**15).view(1, 1, 128, 256) % 2**14
    logits = torch.randn(target.shape, generator=generator)
    options: dict[str, Any] = {"kind": kind}
    if kind == "cc_dice_ce":
        options["regions"] = target.flip(-1)
    loss, gradient = value_and_gradient(lesion_loss, logits, target, **options)
    expected, slope = value_and_gradient(lesion_voxels, logits.double(), target, **options)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-6)
    assert ((gradient - slope).abs() <= 1e-6 * slope.abs().max()).all()


@BOTH_KINDS
def test_gradcheck(kind: str) -> None:
    """The gradient is that of the loss, by finite differences in float64."""
    logits, target = make_inputs((3, 1, 3, 4, 5), ((1, 0), (), (0, 0, 0)), seed=27)
    ignore = (torch.arange(target.numel()) % 4 == 0).view(target.shape)
    weights = torch.tensor([1.0, 0.5, 2.0])
    leaf = logits.double().requires_grad_()
    assert torch.autograd.gradcheck(
        lambda x: lesion_loss(x, target, kind=kind, ignore=ignore, sample_weights=weights), (leaf,)
    )


@BOTH_KINDS
def test_second_gradient_is_refused(kind: str) -> None:
    """Asking for the gradient of the gradient raises instead of giving zeros."""
    logits, target = make_inputs((1, 1, 6, 7), ((1,),), seed=28)
    leaf = logits.requires_grad_()
    loss = lesion_loss(leaf, target, kind=kind)
    (gradient,) = torch.autograd.grad(loss, leaf, create_graph=True)
    with pytest.raises(RuntimeError, match="differentiable once, not twice"):
        torch.autograd.grad(gradient.sum(), leaf)


def test_without_gradient() -> None:
    """Logits that require no gradient give a loss that requires none."""
    logits, target = make_inputs((1, 1, 6, 7), ((1,),), seed=29)
    assert not lesion_loss(logits, target).requires_grad
    with torch.no_grad():
        assert not lesion_loss(logits.requires_grad_(), target).requires_grad


@BOTH_KINDS
def test_inputs_are_left_alone_and_strides_do_not_matter(kind: str) -> None:
    """Strided, expanded and channels-last inputs give the dense result; nothing is written to."""
    logits, target = make_inputs((2, 1, 12, 14), ((2, 1), (1,)), seed=30)
    ignore = torch.arange(14).expand(target.shape) % 5 == 0
    weights = torch.tensor([1.0, 7.0, 2.0, 7.0])
    dense = {
        "kind": kind,
        "ignore": ignore.contiguous(),
        "sample_weights": torch.tensor([1.0, 2.0]),
    }
    loss, gradient = value_and_gradient(lesion_loss, logits, target, **dense)
    wide_logits = torch.stack([logits, logits + 1], -1)[..., 0]
    wide_target = torch.stack([target, target + 1], -1)[..., 0]
    before = wide_logits.clone(), wide_target.clone()
    leaf = wide_logits.detach().requires_grad_()
    strided = lesion_loss(leaf, wide_target, kind=kind, ignore=ignore, sample_weights=weights[::2])
    (strided_gradient,) = torch.autograd.grad(strided, leaf)
    assert torch.equal(strided, loss)
    assert torch.equal(strided_gradient, gradient)
    assert torch.equal(before[0], leaf)
    assert torch.equal(before[1], wide_target)
    last = logits.to(memory_format=torch.channels_last)
    assert torch.equal(lesion_loss(last, target, **dense), loss)
    constant = torch.zeros(1, 1, 1, 1).expand(2, 1, 12, 14)
    assert torch.equal(lesion_loss(constant, target), lesion_loss(constant.clone(), target))


SHAPES = st.one_of(
    st.tuples(st.integers(1, 12), st.integers(1, 40)),
    st.tuples(st.integers(1, 6), st.integers(1, 7), st.integers(1, 30)),
    st.just((1, BLOCK + 3)),
)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    shape=SHAPES,
    num_samples=st.integers(1, 3),
    largest=st.sampled_from([0, 1, 2, 9, 40]),
    lesion_fraction=st.sampled_from([0.0, 0.02, 0.5, 1.0]),
    scale=st.sampled_from([0.0, 1.0, 10.0, 100.0]),
    dtype=st.sampled_from([torch.float32, torch.float64]),
    kind=st.sampled_from(["blob", "cc_dice_ce"]),
    num_regions=st.sampled_from([None, 1, 5, 40]),
    ignored_fraction=st.sampled_from([None, 0.1, 0.9, 1.0]),
    has_weights=st.booleans(),
    seed=st.integers(0, 2**32),
)
def test_equals_the_reference_on_any_target(
    shape: tuple[int, ...],
    num_samples: int,
    largest: int,
    lesion_fraction: float,
    scale: float,
    dtype: torch.dtype,
    kind: str,
    num_regions: int | None,
    ignored_fraction: float | None,
    has_weights: bool,
    seed: int,
) -> None:
    """Operator and compositions equal the reference on targets and regions that are noise, too."""
    generator = torch.Generator().manual_seed(seed)
    full = (num_samples, 1, *shape)
    logits = torch.randn(full, generator=generator, dtype=dtype) * scale
    target = torch.randint(0, largest + 1, full, generator=generator, dtype=torch.int32)
    target *= torch.rand(full, generator=generator) < lesion_fraction
    options: dict[str, Any] = {"kind": kind}
    if ignored_fraction is not None:
        options["ignore"] = torch.rand(full, generator=generator) < ignored_fraction
    if has_weights:
        options["sample_weights"] = torch.rand(num_samples, generator=generator)
    if kind == "cc_dice_ce" and (num_regions is not None or target.numel() > BLOCK):
        options["regions"] = torch.randint(0, (num_regions or 1) + 1, full, generator=generator)
    for call in IMPLEMENTATIONS:
        assert_close(call, logits, target, **options)
