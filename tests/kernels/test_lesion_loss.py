"""The lesion-wise loss: what is particular to it, beside the contract that every operator keeps."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from kernels.lesion_loss.arguments import MAX_LABEL
from kernels.lesion_loss.cases import BLOCK, CASES, make_inputs
from kernels.lesion_loss.op import lesion_loss
from kernels.lesion_loss.reference import reference
from kernels.lesion_loss.spec import SPEC
from kernels.lesion_loss.standard import COMPOSITIONS, all_voxels
from kernels.operator import Implementation, OperatorCase

OP = torch.ops.breakeven.lesion_loss.default
OP_BACKWARD = torch.ops.breakeven.lesion_loss_backward.default
COMPOSITION_CALLS = tuple(composition.call for composition in COMPOSITIONS)
IMPLEMENTATIONS = (lesion_loss, *COMPOSITION_CALLS)
EVERY = pytest.mark.parametrize("call", IMPLEMENTATIONS, ids=lambda call: call.__name__)
# Half precision rounds the gradient itself: by half a unit in the last place, or half the smallest
# subnormal. The operator's exponential is 0 below the smallest normal float32.
ROUNDING = {torch.float16: (5e-4, 3e-8), torch.bfloat16: (4e-3, 1e-37)}


def value_and_gradient(
    call: Implementation, logits: Tensor, labels: Tensor, scale: float = 1.0
) -> tuple[Tensor, Tensor]:
    leaf = logits.detach().clone().requires_grad_()
    loss = call(leaf, labels)
    (scale * loss).backward()
    assert leaf.grad is not None
    return loss.detach(), leaf.grad


def assert_close(call: Implementation, logits: Tensor, labels: Tensor) -> None:
    """Loss within the spec's tolerance, gradient within 1e-6 of the largest element's."""
    loss, gradient = value_and_gradient(call, logits, labels)
    expected, expected_gradient = value_and_gradient(reference, logits.double(), labels)
    tolerance = SPEC.tolerances["default"]
    assert loss.item() == pytest.approx(
        expected.item(), rel=tolerance.relative, abs=tolerance.absolute
    )
    if not labels.numel():
        return
    relative, absolute = ROUNDING.get(logits.dtype, (1e-6, 1e-37))
    if call in COMPOSITION_CALLS:
        # autograd's p (1 - p) is off by half a unit in the last place of p, times dloss/dp
        unit = torch.finfo(loss.dtype).eps
        absolute += unit * OP(logits.detach(), labels, "blob")[1].abs().max().item()
    error = (gradient.double() - expected_gradient).abs()
    assert (error <= relative * expected_gradient.abs().max() + absolute).all()


@pytest.fixture
def _restored_threads() -> Iterator[None]:
    num_threads = torch.get_num_threads()
    yield
    torch.set_num_threads(num_threads)


@EVERY
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_value_and_gradient_equal_the_reference(call: Implementation, case: OperatorCase) -> None:
    """Every implementation agrees with float64 autograd of the reference."""
    (logits, labels), options = case.make()
    assert options == {}
    assert_close(call, logits, labels)


@pytest.mark.parametrize("label_dtype", [torch.int32, torch.int64, torch.uint8], ids=str)
@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16], ids=str
)
def test_every_dtype(dtype: torch.dtype, label_dtype: torch.dtype) -> None:
    """Every dtype is exact up to its own rounding; the loss is never in half precision."""
    logits, labels = make_inputs((2, 1, 9, 10, 33), ((2, 1, 1), ()), seed=20)
    logits, labels = logits.to(dtype), labels.to(label_dtype)
    assert_close(lesion_loss, logits, labels)
    loss, gradient = value_and_gradient(lesion_loss, logits, labels)
    assert loss.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    assert gradient.dtype == dtype


def test_gradients_of_each_element_are_accurate_at_large_logits() -> None:
    """The gradient keeps its relative accuracy where the sigmoid has rounded to 0 or 1."""
    logits = torch.linspace(-85, 85, 2001).view(1, 1, 1, -1)
    labels = (torch.arange(2001).view(1, 1, 1, -1) // 400 % 3).int()
    _, gradient = value_and_gradient(lesion_loss, logits, labels)
    _, expected = value_and_gradient(reference, logits.double(), labels)
    torch.testing.assert_close(gradient.double(), expected, rtol=2e-6, atol=1e-38)


@EVERY
def test_missed_lesion_costs_one_and_found_lesion_nothing(call: Implementation) -> None:
    """A perfect answer is 0; missing one lesion of n costs 1 / n, whatever the sizes."""
    labels = torch.zeros(1, 1, 40, 40, dtype=torch.int32)
    labels[0, 0, :20, :20] = 1
    labels[0, 0, 30, 30] = 2
    perfect = torch.where(labels > 0, 100.0, -100.0)
    assert call(perfect, labels).item() == pytest.approx(0, abs=1e-7)
    for missed in (1, 2):
        logits = torch.where(labels == missed, -100.0, perfect)
        assert call(logits, labels).item() == pytest.approx(0.5, abs=1e-7)


@EVERY
def test_lesion_is_not_judged_on_its_neighbours(call: Implementation) -> None:
    """By hand: p = 1/2 everywhere, 4 background voxels, lesions of 1 and 3 voxels."""
    labels = torch.tensor([0, 0, 0, 0, 1, 2, 2, 2], dtype=torch.int32).view(1, 1, 2, 4)
    dice_small = 2 * 0.5 / (2.5 + 1)
    dice_large = 2 * 1.5 / (3.5 + 3)
    expected = 1 - (dice_small + dice_large) / 2
    assert call(torch.zeros(1, 1, 2, 4), labels).item() == pytest.approx(expected, rel=1e-6)


@EVERY
def test_false_positive_is_never_free(call: Implementation) -> None:
    """A sample without lesions costs S / (1 + S), and has a gradient that lowers every logit."""
    logits = torch.full((2, 1, 3, 4), -100.0)
    logits[1, 0, 1, :3] = 0
    loss, gradient = value_and_gradient(call, logits, torch.zeros(2, 1, 3, 4, dtype=torch.int32))
    assert loss.item() == pytest.approx(0.5 * 1.5 / 2.5, rel=1e-6)
    assert (gradient[1, 0, 1, :3] > 0).all()


@EVERY
def test_samples_are_averaged(call: Implementation) -> None:
    """The loss of a batch is the mean of the losses of its samples."""
    logits, labels = make_inputs((3, 1, 8, 9, 10), ((2, 1), (), (1, 1, 0)), seed=21)
    single = [call(logits[i : i + 1], labels[i : i + 1]).item() for i in range(3)]
    assert call(logits, labels).item() == pytest.approx(sum(single) / 3, rel=1e-6)


@EVERY
def test_numbering_does_not_matter(call: Implementation) -> None:
    """Permuted labels, with gaps, give the same loss and gradient."""
    logits, labels = make_inputs((1, 1, 20, 30), ((4, 2, 1, 0, 0),), seed=22)
    renumbered = torch.tensor([0, 9, MAX_LABEL, 3, 1, 77], dtype=torch.int32)[labels.long()]
    loss, gradient = value_and_gradient(call, logits, labels)
    loss_again, gradient_again = value_and_gradient(call, logits, renumbered)
    torch.testing.assert_close(loss_again, loss, rtol=1e-6, atol=0)
    torch.testing.assert_close(gradient_again, gradient, rtol=1e-5, atol=1e-12)


@EVERY
def test_incoming_gradient_is_honoured(call: Implementation) -> None:
    """A loss scaled by a power of two has a gradient scaled by it, exactly."""
    logits, labels = make_inputs((1, 1, 20, 30), ((4, 2, 1),), seed=23)
    _, gradient = value_and_gradient(call, logits, labels)
    _, scaled = value_and_gradient(call, logits, labels, scale=-1024.0)
    torch.testing.assert_close(scaled, -1024 * gradient, rtol=1e-6, atol=0)


@EVERY
@pytest.mark.parametrize("place", [(0, 0, 0, 0), (0, 0, 5, 5)], ids=["background", "lesion"])
@pytest.mark.parametrize("radii", [(), (1,)], ids=["no_lesion", "one_lesion"])
def test_nan_is_not_hidden(
    call: Implementation, place: tuple[int, ...], radii: tuple[int, ...]
) -> None:
    """One NaN among the logits makes the loss NaN."""
    logits = torch.randn(1, 1, 11, 40, generator=torch.Generator().manual_seed(24))
    labels = torch.zeros(1, 1, 11, 40, dtype=torch.int32)
    for radius in radii:
        labels[0, 0, 5 - radius : 6 + radius, 5 - radius : 6 + radius] = 1
    logits[place] = torch.nan
    assert torch.isnan(call(logits, labels))


@EVERY
def test_infinite_logits_are_certain(call: Implementation) -> None:
    """Infinities count as p = 0 and 1, with a finite gradient."""
    labels = torch.tensor([0, 0, 1, 1], dtype=torch.int32).view(1, 1, 1, 4)
    logits = torch.tensor([-torch.inf, torch.inf, torch.inf, -torch.inf]).view(1, 1, 1, 4)
    loss, gradient = value_and_gradient(call, logits, labels)
    assert loss.item() == pytest.approx(0.5, rel=1e-6)
    assert (gradient == 0).all()


@pytest.mark.usefixtures("_restored_threads")
def test_bitwise_equal_over_repeats_and_threads() -> None:
    """Loss and gradient are the same bits whatever the number of threads."""
    logits, labels = make_inputs((2, 1, 40, 41, 42), ((4,) + (1,) * 30, (2, 2)), seed=25)
    loss, gradient = value_and_gradient(lesion_loss, logits, labels)
    for num_threads in (1, 2, 3, 5, 1):
        torch.set_num_threads(num_threads)
        loss_again, gradient_again = value_and_gradient(lesion_loss, logits, labels)
        assert torch.equal(loss, loss_again)
        assert torch.equal(gradient, gradient_again)


def test_large_background_is_summed_accurately() -> None:
    """At 128^3 the loss is within 1e-7 of float64, where float32 sums are off by 8e-5."""
    logits, labels = make_inputs((1, 1, 128, 128, 128), ((6, 2, 1),), seed=26)
    expected = reference(logits, labels).item()
    assert lesion_loss(logits, labels).item() == pytest.approx(expected, rel=1e-7)


def test_gradcheck() -> None:
    """The gradient is that of the loss, by finite differences in float64."""
    logits, labels = make_inputs((3, 1, 3, 4, 5), ((1, 0), (), (0, 0, 0)), seed=27)
    leaf = logits.double().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: lesion_loss(x, labels), (leaf,))


def test_second_gradient_is_refused() -> None:
    """Asking for the gradient of the gradient raises instead of giving zeros."""
    logits, labels = make_inputs((1, 1, 6, 7), ((1,),), seed=28)
    leaf = logits.requires_grad_()
    (gradient,) = torch.autograd.grad(lesion_loss(leaf, labels), leaf, create_graph=True)
    with pytest.raises(RuntimeError, match="differentiable once, not twice"):
        torch.autograd.grad(gradient.sum(), leaf)


def test_without_gradient() -> None:
    """Logits that require no gradient give a loss that requires none."""
    logits, labels = make_inputs((1, 1, 6, 7), ((1,),), seed=29)
    assert not lesion_loss(logits, labels).requires_grad
    with torch.no_grad():
        assert not lesion_loss(logits.requires_grad_(), labels).requires_grad


def test_inputs_are_left_alone_and_strides_do_not_matter() -> None:
    """Strided, expanded and channels-last inputs give the dense result; nothing is written to."""
    logits, labels = make_inputs((2, 1, 12, 14), ((2, 1), (1,)), seed=30)
    wide_logits = torch.stack([logits, logits + 1], -1)[..., 0]
    wide_labels = torch.stack([labels, labels + 1], -1)[..., 0]
    before = wide_logits.clone(), wide_labels.clone()
    loss, gradient = value_and_gradient(lesion_loss, logits, labels)
    leaf = wide_logits.detach().requires_grad_()
    strided = lesion_loss(leaf, wide_labels)
    (strided_gradient,) = torch.autograd.grad(strided, leaf)
    assert torch.equal(strided, loss)
    assert torch.equal(strided_gradient, gradient)
    assert torch.equal(before[0], leaf)
    assert torch.equal(before[1], wide_labels)
    last = logits.to(memory_format=torch.channels_last)
    assert torch.equal(lesion_loss(last, labels), loss)
    constant = torch.zeros(1, 1, 1, 1).expand(2, 1, 12, 14)
    assert torch.equal(lesion_loss(constant, labels), lesion_loss(constant.clone(), labels))


@pytest.mark.parametrize("requires_grad", [True, False])
def test_opcheck(requires_grad: bool) -> None:
    """Schema, fake, autograd registration and tracing agree with the kernel."""
    logits, labels = make_inputs((2, 1, 5, 6, 7), ((1, 0), ()), seed=31)
    torch.library.opcheck(OP, (logits.requires_grad_(requires_grad), labels, "blob"))
    _, coefficients = OP(logits.detach(), labels, "blob")
    arguments = (torch.ones(()), logits.detach(), labels, coefficients)
    torch.library.opcheck(OP_BACKWARD, arguments)


def test_schemas_equal_the_spec() -> None:
    """What is registered is what the spec declares."""
    assert tuple(str(op._schema) for op in (OP, OP_BACKWARD)) == SPEC.schemas


@pytest.mark.parametrize("call", [lesion_loss, all_voxels], ids=lambda call: call.__name__)
def test_compiled_without_graph_breaks(call: Implementation) -> None:
    """A training step through the loss is traced whole, at changing sizes, and agrees."""
    compiled = torch.compile(call, fullgraph=True, dynamic=True, backend="aot_eager")
    for shape in ((2, 1, 8, 9), (3, 1, 11, 20)):
        logits, labels = make_inputs(shape, ((1, 0),) * shape[0], seed=32)
        assert_close(compiled, logits, labels)


@EVERY
def test_bad_arguments_are_named(call: Implementation) -> None:
    """Kind, dtype, shape and channels are refused with what was expected and what arrived."""
    logits, labels = torch.zeros(1, 1, 4, 5), torch.zeros(1, 1, 4, 5, dtype=torch.int32)
    with pytest.raises(ValueError, match="kind must be one of 'blob', got 'cc_dice_ce'"):
        call(logits, labels, kind="cc_dice_ce")
    with pytest.raises(ValueError, match=r"labels must be int32.*got torch.bool"):
        call(logits, labels.bool())
    with pytest.raises(ValueError, match=r"logits must be float32.*got torch.int32"):
        call(labels, labels)
    with pytest.raises(ValueError, match="labels must have the shape of logits"):
        call(logits, labels[..., :4])
    with pytest.raises(ValueError, match=r"must be \(N, 1, H, W\)"):
        call(logits.expand(1, 2, 4, 5), labels.expand(1, 2, 4, 5))


@EVERY
@pytest.mark.parametrize("label", [-1, MAX_LABEL + 1, -(2**31), 2**31 - 1])
@pytest.mark.parametrize("dtype", [torch.int32, torch.int64], ids=str)
def test_label_out_of_range_is_refused(
    call: Implementation, label: int, dtype: torch.dtype
) -> None:
    """No label reads or writes outside of a table."""
    labels = torch.zeros(1, 1, 1, 300, dtype=dtype)
    labels[0, 0, 0, 299] = label
    expected = "index" if call is all_voxels else f"labels must be 0.*got {label}"
    with pytest.raises((ValueError, RuntimeError), match=expected):
        call(torch.zeros(1, 1, 1, 300), labels)


def test_header_checks_direct_calls() -> None:
    """The registered operators check for themselves, for graphs that call them without Python."""
    logits, labels = torch.zeros(1, 1, 4, 5), torch.zeros(1, 1, 4, 5, dtype=torch.int32)
    _, coefficients = OP(logits, labels, "blob")
    one = torch.ones(())
    with pytest.raises(RuntimeError, match="kind must be one of 'blob', got 'x'"):
        OP(logits, labels, "x")
    with pytest.raises(RuntimeError, match="got 4 for 5 on axis 3"):
        OP(logits, labels[..., :4], "blob")
    with pytest.raises(RuntimeError, match="labels must be int32, int64 or uint8"):
        OP(logits, labels.short(), "blob")
    with pytest.raises(RuntimeError, match="coefficients must be float64"):
        OP_BACKWARD(one, logits, labels, coefficients[:, :7])
    with pytest.raises(RuntimeError, match="grad must be one"):
        OP_BACKWARD(torch.ones(2), logits, labels, coefficients)
    with pytest.raises(RuntimeError, match=r"labels must be 0.*got 16384"):
        OP_BACKWARD(one, logits, labels + 16384, coefficients)
    with pytest.raises(RuntimeError, match="got 4294967296"):
        OP(logits, torch.full((1, 1, 4, 5), 2**32), "blob")


def test_reading_the_spec_loads_nothing() -> None:
    """Importing the folder or its spec imports neither torch's library of it nor a compiler."""
    script = (
        "import kernels.lesion_loss.spec, sys;"
        "assert 'kernels.build' not in sys.modules and 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    shape=st.one_of(
        st.tuples(st.integers(1, 12), st.integers(1, 40)),
        st.tuples(st.integers(1, 6), st.integers(1, 7), st.integers(1, 30)),
        st.just((1, BLOCK + 3)),
    ),
    num_samples=st.integers(1, 3),
    largest=st.sampled_from([0, 1, 2, 9, 200]),
    lesion_fraction=st.sampled_from([0.0, 0.02, 0.5, 1.0]),
    scale=st.sampled_from([0.0, 1.0, 10.0, 100.0]),
    dtype=st.sampled_from([torch.float32, torch.float64]),
    seed=st.integers(0, 2**32),
)
def test_equals_the_reference_on_any_labels(
    shape: tuple[int, ...],
    num_samples: int,
    largest: int,
    lesion_fraction: float,
    scale: float,
    dtype: torch.dtype,
    seed: int,
) -> None:
    """Operator and compositions equal the reference on labels that are noise, too."""
    generator = torch.Generator().manual_seed(seed)
    full = (num_samples, 1, *shape)
    logits = torch.randn(full, generator=generator, dtype=dtype) * scale
    labels = torch.randint(0, largest + 1, full, generator=generator, dtype=torch.int32)
    labels *= torch.rand(full, generator=generator) < lesion_fraction
    for call in IMPLEMENTATIONS:
        assert_close(call, logits, labels)
