"""The lesion-wise loss at its borders: registration, compilation, bad input, levels of the CPU."""

import subprocess
import sys
from typing import Any

import pytest
import torch
from torch import Tensor

from kernels.lesion_loss.arguments import COEFFICIENT_ROWS, MAX_LABEL
from kernels.lesion_loss.cases import CASES, make_inputs
from kernels.lesion_loss.op import lesion_loss, voronoi_regions
from kernels.lesion_loss.reference import voronoi_regions as reference_regions
from kernels.lesion_loss.spec import SPEC
from kernels.lesion_loss.standard import all_voxels
from kernels.operator import Implementation
from tests.kernels.lesion_loss_checks import (
    BOTH_KINDS,
    EVERY,
    OP,
    OP_BACKWARD,
    assert_close,
    value_and_gradient,
)

OP_REGIONS = torch.ops.breakeven.lesion_regions.default


def _inputs() -> tuple[Tensor, Tensor]:
    return torch.zeros(1, 1, 4, 5), torch.zeros(1, 1, 4, 5, dtype=torch.int32)


@pytest.fixture(params=["portable", "avx2", "avx512"])
def level(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A level of the CPU that this machine has, forced for the test."""
    name: str = request.param
    monkeypatch.setenv("BREAKEVEN_CPU_LEVEL", name)
    try:
        lesion_loss(*_inputs())
    except RuntimeError as error:
        pytest.skip(str(error).splitlines()[0])
    return name


def test_every_level_equals_the_reference(level: str) -> None:
    """Each instruction set is right on every case, in value and gradient."""
    for case in CASES:
        (logits, target), options = case.make()
        if target.numel() < 20_000:
            assert_close(lesion_loss, logits, target, **options)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_every_level_reads_and_writes_half_precision(level: str, dtype: torch.dtype) -> None:
    """All bit patterns but NaNs are read, and gradients written, as torch converts them."""
    every = torch.arange(-(2**15), 2**15).to(torch.int16).view(dtype)
    logits = every[~every.isnan()].view(1, 1, 1, -1)
    target = torch.zeros(logits.shape, dtype=torch.uint8)
    # About 1 / V^2 without a scale; with it, from normal numbers down to the smallest subnormal.
    loss, gradient = value_and_gradient(lesion_loss, logits, target, scale=2.0**30)
    expected, single = value_and_gradient(lesion_loss, logits.float(), target, scale=2.0**30)
    assert torch.equal(loss, expected)
    assert torch.equal(gradient, single.to(dtype))
    assert gradient.unique().numel() > 500


def test_unknown_level_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A level that does not exist is named, so that a typing error is not the default."""
    monkeypatch.setenv("BREAKEVEN_CPU_LEVEL", "sse9")
    with pytest.raises(RuntimeError, match="must be portable, avx2 or avx512, got sse9"):
        lesion_loss(*_inputs())


@BOTH_KINDS
@pytest.mark.parametrize("requires_grad", [True, False])
def test_opcheck(requires_grad: bool, kind: str) -> None:
    """Schema, fake, autograd registration and tracing agree with the kernel."""
    logits, target = make_inputs((2, 1, 5, 6, 7), ((1, 0), ()), seed=31)
    regions = voronoi_regions(target) if kind == "cc_dice_ce" else None
    ignore, weights = target == 2, torch.tensor([1.0, 3.0])
    rest = (target, kind, regions, ignore)
    torch.library.opcheck(OP, (logits.requires_grad_(requires_grad), *rest, weights))
    _, coefficients = OP(logits.detach(), *rest, weights)
    assert coefficients.shape == (2, COEFFICIENT_ROWS[kind], MAX_LABEL + 1)
    torch.library.opcheck(OP_BACKWARD, (torch.ones(()), logits.detach(), *rest, coefficients))


def test_schemas_equal_the_spec() -> None:
    """What is registered is what the spec declares."""
    assert tuple(str(op._schema) for op in (OP, OP_BACKWARD, OP_REGIONS)) == SPEC.schemas


@BOTH_KINDS
@pytest.mark.parametrize("call", [lesion_loss, all_voxels], ids=lambda call: call.__name__)
def test_compiled_without_graph_breaks(call: Implementation, kind: str) -> None:
    """A training step through the loss is traced whole, at changing sizes, and agrees."""
    compiled = torch.compile(call, fullgraph=True, dynamic=True, backend="aot_eager")
    for shape in ((2, 1, 8, 9), (3, 1, 11, 20)):
        logits, target = make_inputs(shape, ((1, 0),) * shape[0], seed=32)
        options: dict[str, Any] = {"kind": kind}
        if kind == "cc_dice_ce":
            options["regions"] = voronoi_regions(target)
        assert_close(compiled, logits, target, **options)


def test_regions_equal_those_of_the_reference() -> None:
    """On noise, full of ties, in 2-D and 3-D, with spacing and without."""
    generator = torch.Generator().manual_seed(37)
    for shape, spacing in (((2, 1, 13, 17), None), ((2, 1, 7, 9, 11), (2.0, 1.0, 0.5))):
        target = torch.randint(0, 9, shape, generator=generator, dtype=torch.int32)
        target *= torch.rand(shape, generator=generator) < 0.05
        regions = voronoi_regions(target, spacing)
        assert regions.dtype == torch.int16
        assert torch.equal(regions.int(), reference_regions(target, spacing))


def test_regions_of_nearest_voxels() -> None:
    """The look-up takes a place within the sample; a negative one stands for no lesion at all."""
    target = torch.tensor([[4, 0, 7], [0, 0, 0]]).view(2, 1, 1, 3)
    nearest = torch.tensor([[0, 2, 2], [-1, -1, -1]]).view(2, 1, 1, 3)
    assert OP_REGIONS(target, nearest).flatten().tolist() == [4, 7, 7, 0, 0, 0]
    torch.library.opcheck(OP_REGIONS, (target, nearest))
    with pytest.raises(RuntimeError, match="nearest is out of range"):
        OP_REGIONS(target, nearest + 1)
    with pytest.raises(RuntimeError, match=r"target must be 0.*got 20000"):
        OP_REGIONS(target * 5000, nearest)
    with pytest.raises(RuntimeError, match="nearest must be int64"):
        OP_REGIONS(target, nearest.int())


@EVERY
def test_bad_arguments_are_named(call: Implementation) -> None:
    """Kind, dtype, shape and channels are refused with what was expected and what arrived."""
    logits, target = _inputs()
    with pytest.raises(ValueError, match="kind must be one of 'blob', 'cc_dice_ce', got 'dice'"):
        call(logits, target, kind="dice")
    with pytest.raises(ValueError, match=r"number the lesions of a mask with .*components"):
        call(logits, target.bool())
    with pytest.raises(ValueError, match=r"target must be int32, int64.*got torch.int8"):
        call(logits, target.to(torch.int8))
    with pytest.raises(ValueError, match=r"logits must be float32.*got torch.int32"):
        call(target, target)
    with pytest.raises(ValueError, match="target must have the shape of logits"):
        call(logits, target[..., :4])
    with pytest.raises(ValueError, match=r"must be \(N, 1, H, W\)"):
        call(logits.expand(1, 2, 4, 5), target.expand(1, 2, 4, 5))


@EVERY
def test_bad_options_are_named(call: Implementation) -> None:
    """Options of the wrong dtype or shape, or that do not go together, are refused."""
    logits, target = _inputs()
    with pytest.raises(ValueError, match="regions and spacing belong to kind 'cc_dice_ce'"):
        call(logits, target, regions=target)
    with pytest.raises(ValueError, match="regions and spacing belong to kind 'cc_dice_ce'"):
        call(logits, target, spacing=(1.0, 1.0))
    with pytest.raises(ValueError, match=r"regions or the spacing.*got both"):
        call(logits, target, kind="cc_dice_ce", regions=target, spacing=(1.0, 1.0))
    with pytest.raises(ValueError, match=r"spacing must be 2 finite numbers > 0.*got \(1.0, 0.0\)"):
        call(logits, target, kind="cc_dice_ce", spacing=(1.0, 0.0))
    with pytest.raises(ValueError, match="spacing must be 2 finite"):
        call(logits, target, kind="cc_dice_ce", spacing=(1.0, 1.0, 1.0))
    with pytest.raises(ValueError, match=r"regions must be int16.*got torch.float32"):
        call(logits, target, kind="cc_dice_ce", regions=logits)
    with pytest.raises(ValueError, match="regions must have the shape of logits"):
        call(logits, target, kind="cc_dice_ce", regions=target[..., 1:])
    with pytest.raises(ValueError, match=r"ignore must be bool, got torch\.int32"):
        call(logits, target, ignore=target)
    with pytest.raises(ValueError, match="ignore must have the shape of logits"):
        call(logits, target, ignore=target[..., 1:] > 0)
    with pytest.raises(ValueError, match=r"sample_weights must be \(1,\).*got \(2,\)"):
        call(logits, target, sample_weights=torch.ones(2))
    with pytest.raises(ValueError, match="sample_weights must be float32 or float64"):
        call(logits, target, sample_weights=torch.ones(1, dtype=torch.int32))
    with pytest.raises(ValueError, match=r"pass sample_weights.detach\(\)"):
        call(logits, target, sample_weights=torch.ones(1, requires_grad=True))


@BOTH_KINDS
@EVERY
@pytest.mark.parametrize("label", [-1, MAX_LABEL + 1, -(2**31), 2**31 - 1])
@pytest.mark.parametrize("dtype", [torch.int32, torch.int64], ids=str)
def test_label_out_of_range_is_refused(
    call: Implementation, label: int, dtype: torch.dtype, kind: str
) -> None:
    """No label reads or writes outside of a table."""
    target = torch.zeros(1, 1, 1, 300, dtype=dtype)
    target[0, 0, 0, 299] = label
    logits = torch.zeros(1, 1, 1, 300)
    options = {} if kind == "blob" else {"kind": kind, "regions": target}
    name = "target" if kind == "blob" else "regions"
    expected = "index" if call is all_voxels else f"{name} must be 0.*got {label}"
    with pytest.raises((ValueError, RuntimeError), match=expected):
        call(logits, target, **options)


@pytest.mark.parametrize("label", [-1, MAX_LABEL + 1])
def test_label_out_of_range_has_no_region(label: int) -> None:
    """Regions that are computed keep the range, too."""
    target = torch.zeros(1, 1, 1, 300, dtype=torch.int32)
    target[0, 0, 0, 299] = label
    with pytest.raises((ValueError, RuntimeError), match=f"must be 0.*got {label}"):
        lesion_loss(torch.zeros(1, 1, 1, 300), target, kind="cc_dice_ce")


def test_header_checks_direct_calls() -> None:
    """The registered operators check for themselves, for graphs that call them without Python."""
    logits, target = _inputs()
    none = (None, None, None)
    _, coefficients = OP(logits, target, "blob", *none)
    one = torch.ones(())
    with pytest.raises(RuntimeError, match="kind must be one of 'blob', 'cc_dice_ce', got 'x'"):
        OP(logits, target, "x", *none)
    with pytest.raises(RuntimeError, match="got 4 for 5 on axis 3"):
        OP(logits, target[..., :4], "blob", *none)
    with pytest.raises(RuntimeError, match="target must be int32, int64 or uint8"):
        OP(logits, target.short(), "blob", *none)
    with pytest.raises(RuntimeError, match="regions must be given for 'cc_dice_ce', and only"):
        OP(logits, target, "cc_dice_ce", *none)
    with pytest.raises(RuntimeError, match="regions must be given for 'cc_dice_ce', and only"):
        OP(logits, target, "blob", target, None, None)
    with pytest.raises(RuntimeError, match="regions must be int16, int32, int64 or uint8"):
        OP(logits, target, "cc_dice_ce", target.bool(), None, None)
    with pytest.raises(RuntimeError, match="ignore must be bool"):
        OP(logits, target, "blob", None, target, None)
    with pytest.raises(RuntimeError, match=r"sample_weights must be float32.*\(1,\)"):
        OP(logits, target, "blob", None, None, torch.ones(2))
    with pytest.raises(RuntimeError, match=r"coefficients must be float64 \(N, 1"):
        OP_BACKWARD(one, logits, target, "blob", None, None, coefficients[:, :, :7])
    with pytest.raises(RuntimeError, match=r"coefficients must be float64 \(N, 3"):
        OP_BACKWARD(one, logits, target, "cc_dice_ce", target, None, coefficients)
    with pytest.raises(RuntimeError, match="grad must be one"):
        OP_BACKWARD(torch.ones(2), logits, target, "blob", None, None, coefficients)
    with pytest.raises(RuntimeError, match=r"target must be 0.*got 16384"):
        OP_BACKWARD(one, logits, target + 16384, "blob", None, None, coefficients)
    with pytest.raises(RuntimeError, match="got 4294967296"):
        OP(logits, torch.full((1, 1, 4, 5), 2**32), "blob", *none)


def test_reading_the_spec_loads_nothing() -> None:
    """Importing the folder or its spec imports neither torch's library of it nor a compiler."""
    script = (
        "import kernels.lesion_loss.spec, sys;"
        "assert 'kernels.build' not in sys.modules and 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
