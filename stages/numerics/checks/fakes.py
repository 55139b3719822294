"""The fake kernel: what the compiler is told about the result before it exists."""

from typing import Any

import torch
from torch._subclasses.fake_tensor import (
    DynamicOutputShapeException,
    FakeTensorMode,
    UnsupportedFakeTensorException,
    UnsupportedOperatorException,
)
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from stages.numerics.apart import brief
from stages.numerics.checks.samples import sample, with_layouts
from stages.numerics.comparison import map_tensors, tensors
from stages.numerics.probe import Probe, dtype_name
from stages.numerics.trial import Check, Seen, Target


def no_schema(target: Target) -> str | None:
    """Why graph checks are not asked of an operator that registers nothing."""
    return None if target.schemas else "it registers no schema"


def _test_fake(target: Target, probe: Probe) -> Seen:
    mode = FakeTensorMode(allow_non_fake_inputs=False)
    try:
        args, kwargs = map_tensors(mode.from_tensor, probe.inputs())
        with torch.no_grad(), mode:
            promised = tensors(target.call(*args, **kwargs))
    except Exception as error:
        return _must_fail_for_real(target, probe, error)
    try:
        real_args, real_kwargs = probe.inputs()
        with torch.no_grad():
            real = tensors(target.call(*real_args, **real_kwargs))
    except Exception:  # the kernel may refuse by values, which a fake cannot see
        return Seen()
    shared = _shared(promised, (args, kwargs)), _shared(real, (real_args, real_kwargs))
    if shared[0] and not shared[1]:
        return Seen("the fake kernel returns its argument, the real one fresh memory")
    return Seen(_first_difference(promised, real))


def _shared(results: list[torch.Tensor], arguments: Any) -> bool:
    """Whether a result lies in the memory of an argument."""
    given = {tensor.untyped_storage()._cdata for tensor in tensors(arguments)}
    return any(result.untyped_storage()._cdata in given for result in results)


def _must_fail_for_real(target: Target, probe: Probe, error: Exception) -> Seen:
    """A fake may refuse what the kernel refuses; anything else is a fault of the fake."""
    try:
        target.answer(probe)
    except Exception:
        return Seen()
    if isinstance(error, DynamicOutputShapeException):
        return Seen("the fake kernel does not say that the shape depends on values")
    if is_missing_fake(error):
        return Seen(
            "no fake kernel: eager works, torch.compile and torch.export do not; add one with "
            f"@torch.library.register_fake({(target.schemas or ('namespace::name',))[0]!r}), "
            "returning an empty tensor of the result's shape and dtype"
        )
    return Seen(f"the kernel answers, the fake kernel raises {brief(error)}")


def is_missing_fake(error: Exception) -> bool:
    """Whether torch says that there is no fake kernel, rather than that it failed."""
    if isinstance(error, UnsupportedFakeTensorException | UnsupportedOperatorException):
        return True
    telling = ("no fake impl", "fake tensors", "UnsupportedOperatorException", "register_fake")
    return any(words in f"{type(error).__name__}: {error}" for words in telling)


def _first_difference(promised: list[torch.Tensor], real: list[torch.Tensor]) -> str | None:
    if len(promised) != len(real):
        return f"the fake kernel gives {len(promised)} results, the real one {len(real)}"
    for fake, true in zip(promised, real, strict=True):
        for what, said, is_so in (
            ("dtype", dtype_name(fake.dtype), dtype_name(true.dtype)),
            ("axes", fake.dim(), true.dim()),
            ("device", fake.device.type, true.device.type),
        ):
            if said != is_so:
                return f"{what}: the fake kernel says {said}, the real one gives {is_so}"
        if not _is_dynamic(fake) and tuple(fake.shape) != tuple(true.shape):
            return (
                f"shape: the fake kernel says {tuple(fake.shape)}, "
                f"the real one gives {tuple(true.shape)}"
            )
        if true.numel() > 1 and not _is_dynamic(fake) and _strides(fake) != _strides(true):
            return f"strides: the fake kernel says {fake.stride()}, the real one {true.stride()}"
        if fake.requires_grad != true.requires_grad:
            return "the fake kernel and the real one disagree on whether a gradient is required"
    return None


def _is_dynamic(tensor: torch.Tensor) -> bool:
    return any(not isinstance(size, int) for size in tensor.shape)


def _strides(tensor: torch.Tensor) -> list[int]:
    """Of axes longer than one: the others mean nothing."""
    pairs = zip(tensor.shape, tensor.stride(), strict=True)
    return [stride for size, stride in pairs if size > 1]


def _test_symbols(target: Target, probe: Probe) -> Seen:
    """With symbols for sizes: the result's sizes must follow, not be fixed to these numbers."""
    environment = ShapeEnv()
    mode = FakeTensorMode(shape_env=environment, allow_non_fake_inputs=False)

    def symbolic(tensor: torch.Tensor) -> Any:
        from torch.fx.experimental.symbolic_shapes import DimDynamic, StatelessSymbolicContext

        context: Any = StatelessSymbolicContext(
            dynamic_sizes=[
                DimDynamic.DYNAMIC if size > 1 else DimDynamic.STATIC for size in tensor.shape
            ]
        )
        return mode.from_tensor(tensor, symbolic_context=context)

    try:
        args, kwargs = map_tensors(symbolic, probe.inputs())
        with torch.no_grad(), mode:
            promised = tensors(target.call(*args, **kwargs))
    except Exception as error:
        if is_missing_fake(error):
            return Seen("no fake kernel, so no dynamic shapes")
        return Seen(f"with symbolic sizes the fake kernel raises {brief(error)}")
    given = [tensor.shape for tensor in tensors((args, kwargs))]
    follow = {str(size) for shape in given for size in shape if not isinstance(size, int)}
    real = tensors(target.answer(probe))
    for fake, true in zip(promised, real, strict=True):
        for axis, size in enumerate(true.shape):
            is_number = isinstance(fake.shape[axis], int)
            if size > 1 and is_number and follow and size in _numbers(probe):
                return Seen(
                    f"the fake kernel fixes axis {axis} of the result to {size}: "
                    "a graph with dynamic shapes would be wrong for other sizes"
                )
    return Seen()


def _numbers(probe: Probe) -> set[int]:
    return {size for tensor in probe.tensors for size in tensor.shape}


def _distinct(target: Target) -> list[Probe]:
    """Calls whose axes, but for those of one element, all have different sizes."""
    fitting = []
    for probe in target.promise.probes:
        long = [size for size in probe.tensors[0].shape if size != 1] if probe.tensors else []
        if len(long) > 1 and len(set(long)) == len(long) and min(long) > 1:
            fitting.append(probe)
    return sample(fitting, 12, most=20_000)


FAKE = Check(
    "fake",
    "the fake kernel says what the real one gives: shape, strides, dtype, device",
    lambda target: [
        *sample(target.promise.probes, 80, most=20_000),
        *target.promise.empty,
        *with_layouts(target.promise.probes, 6),
    ],
    _test_fake,
    no_schema,
)
SYMBOLS = Check(
    "symbols",
    "the fake kernel follows sizes that are not known yet",
    _distinct,
    _test_symbols,
    no_schema,
    can_shrink=False,
)
