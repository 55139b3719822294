"""What an operator's folder promises: cases, reference, dtypes and tolerances of its spec."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from kernels.folder import OperatorFolder
from kernels.operator import OperatorCase, Tolerance, takes_options
from stages.numerics.comparison import compare, tensors
from stages.numerics.probe import Probe, dtype_name
from stages.numerics.promise import Implementation, Promise

DTYPE_SWEEP_ELEMENTS = 2_000
"""Cases up to this size are also tried in every other dtype; larger ones in their own: the
reference is slow."""
STRESS_ELEMENTS = 100_000
GRADIENT_ELEMENTS = 2_000
GROWING_AXES = 2
ENVELOPE_SIZES = tuple(4**power for power in range(4, 10))
EXACT = Tolerance(1e-12, 1e-12, "two float64 references that only differ in order")


def promise_of(
    operator: OperatorFolder, seed: int, job_shape: tuple[int, ...] | None = None
) -> Promise:
    """All that the folder lets us know; `job_shape` is that of the first argument in the job."""
    spec = operator.spec
    cases = tuple(_as_probe(case) for case in operator.cases)
    usual = [p for p in cases if 0 < p.num_elements < STRESS_ELEMENTS]
    standard = [probe for probe in usual if _is_standard(operator, probe)]
    return Promise(
        reference=operator.reference,
        probes=tuple(_in_every_dtype(usual, spec.dtypes, seed)),
        tolerance=lambda probe: _tolerance(operator, probe),
        refused=tuple(_as_probe(case) for case in operator.refused),
        empty=tuple(_empty(cases)),
        special=tuple(_special(usual, seed)),
        stress=tuple(probe for probe in cases if probe.num_elements >= STRESS_ELEMENTS),
        gradient=tuple(_gradient(usual)) if spec.is_differentiable else (),
        is_twice_differentiable=False if spec.is_differentiable else None,
        gradient_places=(0,),
        has_steady_gradient=True,
        claims_no_gradient=not spec.is_differentiable and bool(spec.schemas),
        orders=_orders(operator, standard),
        sized=_grower(standard),
        sizes=ENVELOPE_SIZES,
        job=tuple(_at_job_size(standard, job_shape)),
        stand_in=_stand_in(operator, standard),
    )


def _as_probe(case: OperatorCase) -> Probe:
    args, kwargs = case.make()
    probe = Probe(args, kwargs, {"case": case.name})
    first = probe.tensors[0] if probe.tensors else None
    contiguous = probe.with_tensors(lambda tensor: tensor.contiguous())
    if first is None:
        return contiguous
    options = {name: str(value) for name, value in kwargs.items() if not _holds_tensor(value)}
    return contiguous.noting(dtype=dtype_name(first.dtype), axes=str(first.dim()), **options)


def _holds_tensor(value: Any) -> bool:
    return bool(tensors(value))


def _tolerance(operator: OperatorFolder, probe: Probe) -> Tolerance:
    tolerances = operator.spec.tolerances
    name = dtype_name(probe.tensors[0].dtype)
    return tolerances[name] if name in tolerances else tolerances["default"]


def _in_every_dtype(probes: Sequence[Probe], names: Sequence[str], seed: int) -> Iterator[Probe]:
    """Each as it is; small ones in all dtypes of the spec; and with other values of its own."""
    generator = torch.Generator().manual_seed(seed)
    for probe in probes:
        yield probe
        first = probe.tensors[0]
        if first.numel() > DTYPE_SWEEP_ELEMENTS:
            continue
        for name in names:
            dtype: torch.dtype = getattr(torch, name)
            if dtype == first.dtype or not _fits(first, dtype):
                continue
            yield probe.with_tensor(0, first.to(dtype)).noting(dtype=name)
        yield from _varied(probe, generator)


def _fits(tensor: Tensor, dtype: torch.dtype) -> bool:
    """Whether the values mean something in the other dtype."""
    return dtype.is_floating_point or bool(tensor.isfinite().all())


def _varied(probe: Probe, generator: torch.Generator) -> Iterator[Probe]:
    """The first tensor shuffled, all zeros, all ones, and scaled beyond its usual range."""
    first = probe.tensors[0]
    order = torch.randperm(first.numel(), generator=generator)
    shuffled = first.reshape(-1)[order].view(first.shape)
    yield probe.with_tensor(0, shuffled).noting(values="shuffled")
    yield probe.with_tensor(0, torch.zeros_like(first)).noting(values="zeros")
    yield probe.with_tensor(0, torch.ones_like(first)).noting(values="ones")
    if first.is_floating_point():
        yield probe.with_tensor(0, first * 30).noting(values="large")
        yield probe.with_tensor(0, first * 1e-4).noting(values="small")


def _empty(probes: Sequence[Probe]) -> Iterator[Probe]:
    """The empty cases, and others with their last axis cut to nothing."""
    yield from (probe for probe in probes if not probe.num_elements)
    for probe in probes[:: max(len(probes) // 6, 1)]:
        if not probe.num_elements or not probe.tensors[0].dim():
            continue
        shape = probe.tensors[0].shape
        yield probe.with_tensors(partial(_cut, shape=shape)).noting(values="cut to nothing")


def _cut(tensor: Tensor, shape: torch.Size) -> Tensor:
    return tensor[..., :0].clone() if tensor.shape == shape else tensor


def _special(probes: Sequence[Probe], seed: int) -> Iterator[Probe]:
    """NaN and infinities in the first tensor, where it is floating."""
    generator = torch.Generator().manual_seed(seed + 1)
    floating = [p for p in probes if p.tensors[0].is_floating_point() and p.num_elements < 5_000]
    for probe in floating[:: max(len(floating) // 6, 1)]:
        first = probe.tensors[0]
        for name, value in (("NaN", torch.nan), ("+inf", torch.inf), ("-inf", -torch.inf)):
            place = int(torch.randint(first.numel(), (), generator=generator))
            for index in {0, place, first.numel() - 1}:
                changed = first.clone()
                changed.view(-1)[index] = value
                yield probe.with_tensor(0, changed).noting(value=name)


def _gradient(probes: Sequence[Probe]) -> Iterator[Probe]:
    for probe in probes:
        if 2 <= probe.num_elements <= GRADIENT_ELEMENTS:
            yield probe.with_tensor(0, probe.tensors[0].double()).noting(dtype="float64")


def _orders(operator: OperatorFolder, probes: Sequence[Probe]) -> dict[str, Implementation]:
    """Standard forms, each also with its input reversed where that leaves the truth as it is.

    None where the truth is whole numbers: nothing is rounded.
    """
    orders: dict[str, Implementation] = {}
    if not _has_floating_truth(operator, probes):
        return orders
    for composition in operator.compositions:
        orders[composition.name] = composition.call
    small = [probe for probe in probes if 2 <= probe.num_elements <= 1_000][:3]
    if small and all(_is_unmoved(operator.reference, probe) for probe in small):
        for composition in operator.compositions:
            orders[f"{composition.name}, reversed"] = _reversed(composition.call)
    return orders


def _has_floating_truth(operator: OperatorFolder, probes: Sequence[Probe]) -> bool:
    """Whether the smallest case has a floating result."""
    if not probes:
        return False
    args, kwargs = min(probes, key=lambda probe: probe.num_elements).plain()
    return any(
        tensor.is_floating_point() for tensor in tensors(operator.reference(*args, **kwargs))
    )


def _is_unmoved(reference: Implementation, probe: Probe) -> bool:
    """Whether reversing the voxels leaves a scalar truth as it is."""
    args, kwargs = probe.plain()
    truth = reference(*args, **kwargs)
    if any(tensor.dim() for tensor in tensors(truth)):
        return False
    return compare(_reversed(reference)(*args, **kwargs), truth, EXACT).is_within


def _reversed(call: Implementation) -> Implementation:
    def reversed_call(*args: Any, **kwargs: Any) -> Any:
        shape = args[0].shape
        flipped = [
            a.flip(-1) if isinstance(a, Tensor) and a.shape == shape and a.dim() else a
            for a in args
        ]
        named = {
            key: v.flip(-1) if isinstance(v, Tensor) and v.shape == shape and v.dim() else v
            for key, v in kwargs.items()
        }
        return call(*flipped, **named)

    return reversed_call


def _is_standard(operator: OperatorFolder, probe: Probe) -> bool:
    """Whether every composition takes the options of this call."""
    return all(takes_options(way.call, probe.kwargs) for way in operator.compositions)


def _grower(probes: Sequence[Probe]) -> Callable[[int], Probe] | None:
    """Repeat a moderate case along its last axes until it has about so many elements."""
    fitting = [probe for probe in probes if 50 <= probe.num_elements <= 5_000]
    if not fitting:
        return None
    seed = max(fitting, key=lambda probe: probe.num_elements)
    shape = seed.tensors[0].shape

    def grow(size: int) -> Probe:
        num_axes = min(len(shape), GROWING_AXES)
        times = max(round((size / seed.num_elements) ** (1 / num_axes)), 1)

        def repeat(tensor: Tensor) -> Tensor:
            if tensor.shape != shape:
                return tensor
            return tensor.repeat(*[1] * (tensor.dim() - num_axes), *[times] * num_axes)

        return seed.with_tensors(repeat).noting(values="repeated")

    return grow


def _stand_in(operator: OperatorFolder, probes: Sequence[Probe]) -> Implementation | None:
    """The first composition that is right on a few moderate cases."""
    moderate = [probe for probe in probes if probe.num_elements <= DTYPE_SWEEP_ELEMENTS][-3:]
    for composition in operator.compositions:
        if all(_is_right(operator, composition.call, probe) for probe in moderate):
            return composition.call
    return None


def _is_right(operator: OperatorFolder, call: Implementation, probe: Probe) -> bool:
    args, kwargs = probe.plain()
    truth = operator.reference(*args, **kwargs)
    try:
        result = call(*args, **kwargs)
    except Exception:  # whatever a foreign composition raises
        return False
    return compare(result, truth, _tolerance(operator, probe)).is_within


def _at_job_size(probes: Sequence[Probe], job_shape: tuple[int, ...] | None) -> Iterator[Probe]:
    """The largest case of the job's rank, repeated along every axis up to the job's shape."""
    alike = [p for p in probes if job_shape and p.tensors[0].dim() == len(job_shape)]
    if not alike or job_shape is None:
        return
    seed = max(alike, key=lambda probe: probe.num_elements)
    shape = seed.tensors[0].shape
    times = [-(-wanted // size) for wanted, size in zip(job_shape, shape, strict=True)]
    window = tuple(slice(wanted) for wanted in job_shape)

    def fill(tensor: Tensor) -> Tensor:
        if tensor.shape != shape:
            return tensor
        return tensor.repeat(*times)[window].contiguous()

    yield seed.with_tensors(fill).noting(values="repeated")
