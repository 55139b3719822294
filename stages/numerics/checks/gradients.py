"""Gradients: there, right, scaled by what comes in, for every argument and every precision."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any

import torch

from stages.numerics.apart import brief
from stages.numerics.checks.samples import sample
from stages.numerics.comparison import tensors
from stages.numerics.layouts import fitting
from stages.numerics.probe import Probe, dtype_name
from stages.numerics.trial import Check, Seen, Target

GRADCHECK_ELEMENTS = 60
INCOMING = (1.0, -3.7, 0.0)
SECOND_RELATIVE = 1e-7
"""Of the largest second gradient, in float64: two quotients, each rounded many times."""
RELATIVE = {torch.float64: 1e-9, torch.float32: 2e-5, torch.float16: 1e-2, torch.bfloat16: 8e-2}
"""Of the largest gradient; rounding of the dtype, and of sums over the elements."""


def no_gradient(target: Target) -> str | None:
    """Why gradients are not asked for."""
    return None if target.promise.is_twice_differentiable is not None else "it has no gradient"


def takers(target: Target, tree: Any) -> list[torch.Tensor]:
    """The tensors among arguments that take a gradient."""
    floating = [tensor for tensor in tensors(tree) if tensor.is_floating_point()]
    places = target.promise.gradient_places
    return floating if places is None else [floating[p] for p in places if p < len(floating)]


def _gradients(
    target: Target, call: Any, inputs: Any, incoming: float, wanted: tuple[int, ...]
) -> tuple[torch.Tensor | None, ...]:
    args, kwargs = inputs
    leaves = takers(target, (args, kwargs))
    for place in wanted:
        leaves[place].requires_grad_()
    outputs = [out for out in tensors(call(*args, **kwargs)) if out.is_floating_point()]
    chosen = [leaves[place] for place in wanted]
    reached = [output for output in outputs if output.requires_grad]
    if not reached:
        raise RuntimeError("no result requires a gradient although an argument does")
    incomings = [_weights(output, incoming) for output in reached]
    return torch.autograd.grad(reached, chosen, incomings, allow_unused=True)


def _weights(output: torch.Tensor, scale: float) -> torch.Tensor:
    """Incoming gradients that differ between elements."""
    generator = torch.Generator().manual_seed(output.numel())
    weights = torch.rand(output.shape, generator=generator, dtype=torch.float64) + 0.5
    factor = scale if not output.dim() else scale * weights
    return torch.ones_like(output) * torch.as_tensor(factor, dtype=output.dtype)


def _test_against_reference(target: Target, probe: Probe) -> Seen:
    """Against autograd through the float64 reference, for each incoming gradient."""
    count = len(takers(target, probe.inputs()))
    worst = 0.0
    for incoming in INCOMING:
        every = tuple(range(count))
        expected = _expected(target, probe, incoming, every)
        if expected is None:
            return Seen()
        found = _gradients(target, target.call, probe.inputs(), incoming, every)
        fault, error = _compare(target, found, expected, probe)
        worst = max(worst, error)
        if fault is not None:
            scale = "" if incoming == 1.0 else f" with an incoming gradient of {incoming:g}"
            return Seen(f"{fault}{scale}", worst)
    return Seen(None, worst)


def _expected(
    target: Target, probe: Probe, incoming: float, wanted: tuple[int, ...]
) -> tuple[torch.Tensor | None, ...] | None:
    """None where the reference cannot be differentiated: gradcheck has to do then."""
    doubled = probe.with_tensors(lambda t: t.double() if t.is_floating_point() else t)
    try:
        return _gradients(target, target.promise.reference, doubled.plain(), incoming, wanted)
    except RuntimeError:
        return None


def _compare(
    target: Target,
    found: tuple[torch.Tensor | None, ...],
    expected: tuple[torch.Tensor | None, ...],
    probe: Probe,
) -> tuple[str | None, float]:
    worst = 0.0
    for place, (got, truth) in enumerate(zip(found, expected, strict=True)):
        if truth is None:
            continue
        if got is None:
            return f"argument {place} gets no gradient", worst
        leaf = takers(target, probe.inputs())[place]
        if got.shape != leaf.shape or got.dtype != leaf.dtype:
            return (
                f"gradient of argument {place} is {tuple(got.shape)} {dtype_name(got.dtype)}, "
                f"the argument {tuple(leaf.shape)} {dtype_name(leaf.dtype)}"
            ), worst
        if not got.numel():
            continue
        difference = (got.double() - truth.double()).abs()
        scale = float(truth.double().abs().max())
        error = float(difference.max()) / max(scale, 1e-30) if scale else float(difference.max())
        step = torch.finfo(leaf.dtype).smallest_normal * torch.finfo(leaf.dtype).eps
        is_tiny = float(difference.max()) <= 4 * step
        if not (is_tiny or error <= RELATIVE.get(leaf.dtype, 1e-9)):
            index = int(difference.argmax())
            return (
                f"gradient of argument {place} is {float(got.reshape(-1)[index]):.6g} instead of "
                f"{float(truth.reshape(-1)[index]):.6g} (reference)"
            ), error
        worst = max(worst, error)
    return None, worst


def _test_gradcheck(target: Target, probe: Probe) -> Seen:
    args, kwargs = probe.inputs()
    leaves = takers(target, (args, kwargs))
    for leaf in leaves:
        leaf.requires_grad_()
    try:
        torch.autograd.gradcheck(
            lambda *_: target.call(*args, **kwargs), tuple(leaves), fast_mode=False
        )
    except (RuntimeError, ValueError) as error:
        return Seen(f"gradcheck: {brief(error)}")
    return Seen()


def _test_twice(target: Target, probe: Probe) -> Seen:
    """Right twice, or an error; never silently wrong."""
    args, kwargs = probe.inputs()
    leaves = tuple(takers(target, (args, kwargs)))
    for leaf in leaves:
        leaf.requires_grad_()

    def call(*_: torch.Tensor) -> Any:
        return target.call(*args, **kwargs)

    if target.promise.is_twice_differentiable:
        try:
            torch.autograd.gradgradcheck(call, leaves)
        except (RuntimeError, ValueError) as error:
            return Seen(f"gradgradcheck: {brief(error)}")
        return _second_against_reference(target, probe)
    output = torch.stack([out.sum() for out in tensors(call()) if out.requires_grad]).sum()
    try:
        first = torch.autograd.grad(output, leaves, create_graph=True, allow_unused=True)
        total = torch.stack([g.sum() for g in first if g is not None]).sum()
        torch.autograd.grad(total, leaves, allow_unused=True)
    except RuntimeError:
        return Seen()
    return Seen(
        "a gradient of the gradient is given although the operator is not twice differentiable; "
        "make its backward raise"
    )


def _second_against_reference(target: Target, probe: Probe) -> Seen:
    """gradgradcheck leaves out first gradients that were cut off from the graph."""
    expected = _second_gradients(target, target.promise.reference, probe)
    found = _second_gradients(target, target.call, probe)
    for place, (got, truth) in enumerate(zip(found, expected, strict=True)):
        if truth is None or not bool(truth.any()):
            continue
        if got is None:
            return Seen(f"argument {place} gets no second gradient")
        error = float((got - truth).abs().max()) / float(truth.abs().max())
        if not error <= SECOND_RELATIVE:
            return Seen(f"second gradient of argument {place} is off by {error:.2g} (reference)")
    return Seen()


def _second_gradients(target: Target, call: Any, probe: Probe) -> tuple[torch.Tensor | None, ...]:
    """Of all first gradients together, each element of them weighted otherwise."""
    args, kwargs = probe.inputs()
    leaves = takers(target, (args, kwargs))
    for leaf in leaves:
        leaf.requires_grad_()
    outputs = [out.sum() for out in tensors(call(*args, **kwargs)) if out.requires_grad]
    total = torch.stack(outputs).sum()
    first = torch.autograd.grad(total, leaves, create_graph=True, allow_unused=True)
    weighted = [(_weights(g, 1.0) * g).sum() for g in first if g is not None and g.requires_grad]
    if not weighted:
        return tuple(None for _ in leaves)
    return torch.autograd.grad(torch.stack(weighted).sum(), leaves, allow_unused=True)


def _test_subset(target: Target, probe: Probe) -> Seen:
    """Any choice of arguments that take a gradient: the others may not disturb."""
    count = len(takers(target, probe.inputs()))
    for size in range(1, count):
        for wanted in combinations(range(count), size):
            expected = _expected(target, probe, 1.0, wanted)
            if expected is None:
                return Seen()
            found = _gradients(target, target.call, probe.inputs(), 1.0, wanted)
            leaves = [takers(target, probe.inputs())[place] for place in wanted]
            for got, truth, leaf in zip(found, expected, leaves, strict=True):
                if truth is not None and (got is None or got.shape != leaf.shape):
                    return Seen(f"with gradients of arguments {wanted} alone, one is missing")
                if truth is not None and got is not None and got.numel():
                    scale = float(truth.abs().max())
                    if float((got.double() - truth.double()).abs().max()) > 1e-9 * max(scale, 1e-9):
                        return Seen(f"with gradients of arguments {wanted} alone, one is wrong")
    return Seen()


def _test_nan(target: Target, probe: Probe) -> Seen:
    """What makes the loss NaN must not train on: the reference says where its gradient is NaN."""
    every = tuple(range(len(takers(target, probe.inputs()))))
    try:
        expected = _expected(target, probe, 1.0, every)
    except Exception:  # NaN that is refused has no gradient
        return Seen()
    if expected is None:
        return Seen()
    found = _gradients(target, target.call, probe.inputs(), 1.0, every)
    for place, (got, truth) in enumerate(zip(found, expected, strict=True)):
        if truth is None or not bool(truth.isnan().any()):
            continue
        if got is None or bool(got[truth.isnan()].isfinite().any()):
            return Seen(
                f"gradient of argument {place} is finite where the reference gives NaN: "
                "a step would be taken on it"
            )
    return Seen()


def _in_precisions(target: Target) -> Iterator[Probe]:
    for probe in target.promise.gradient:
        yield probe
    for probe in sample(target.promise.probes, 60, most=5_000):
        if takers(target, probe.inputs()) and probe.num_elements:
            yield probe
    for probe in target.promise.gradient:
        for place, tensor in enumerate(probe.tensors):
            for name in fitting(tensor):
                yield replace(probe, layouts={place: name}).noting(layout=name)


def _test_claim(target: Target, probe: Probe) -> Seen:
    args, kwargs = probe.inputs()
    leaves = takers(target, (args, kwargs))
    for leaf in leaves:
        leaf.requires_grad_()
    if any(tensor.requires_grad for tensor in tensors(target.call(*args, **kwargs))):
        return Seen("the result requires a gradient that does not exist")
    return Seen()


CLAIM = Check(
    "no gradient",
    "a result without a gradient does not claim one",
    lambda target: [
        probe
        for probe in sample(target.promise.probes, 40, most=5_000)
        if any(tensor.is_floating_point() for tensor in probe.tensors)
    ],
    _test_claim,
    lambda target: (
        None if target.promise.claims_no_gradient else "it has a gradient, or none is ruled out"
    ),
)
GRADIENT = Check(
    "gradient",
    "gradients are those of the float64 reference, for any incoming gradient, layout and dtype",
    _in_precisions,
    _test_against_reference,
    no_gradient,
)
GRADIENT_OF_NAN = Check(
    "gradient of NaN",
    "the gradient of a NaN is NaN where that of the reference is",
    lambda target: [
        probe
        for probe in sample(target.promise.special, 40, most=5_000)
        if any(bool(tensor.isnan().any()) for tensor in probe.tensors)
    ],
    _test_nan,
    no_gradient,
)
GRADCHECK = Check(
    "gradcheck",
    "gradients are those of finite differences",
    lambda target: [
        probe for probe in target.promise.gradient if probe.num_elements <= GRADCHECK_ELEMENTS
    ],
    _test_gradcheck,
    no_gradient,
)
TWICE = Check(
    "second gradient",
    "the gradient of the gradient is right, or refused",
    lambda target: [
        probe for probe in target.promise.gradient if probe.num_elements <= GRADCHECK_ELEMENTS // 2
    ],
    _test_twice,
    no_gradient,
)
SUBSETS = Check(
    "gradient of some",
    "arguments without a gradient do not disturb those with one",
    lambda target: sample(target.promise.gradient, 4, least=2),
    _test_subset,
    no_gradient,
)
