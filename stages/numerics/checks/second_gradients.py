"""The gradient of the gradient: right, or refused, never silently wrong."""

from typing import Any

import torch

from stages.numerics.apart import brief
from stages.numerics.checks.differentiation import no_gradient, takers, weights
from stages.numerics.comparison import tensors
from stages.numerics.probe import Probe
from stages.numerics.trial import Check, Seen, Target

NUM_ELEMENTS = 30

SECOND_RELATIVE = 1e-7
"""Of the largest second gradient, in float64: two quotients, each rounded many times."""


def _test_twice(target: Target, probe: Probe) -> Seen:
    """Right twice, or an error; never silently wrong."""
    args, kwargs = probe.inputs()
    leaves = tuple(takers(target, (args, kwargs)))
    for leaf in leaves:
        leaf.requires_grad_()

    def call(*_: torch.Tensor) -> Any:
        return target.call(*args, **kwargs)

    second = _second(call(), leaves)
    if second == "constant" and not _is_linear(target, probe):
        return Seen(
            "the gradient claims to be a constant: a loss that contains it would be differentiated "
            "wrongly, without an error; make its backward raise"
        )
    if target.promise.is_twice_differentiable:
        if second == "refused" and target.promise.may_refuse_twice:
            return Seen()
        try:
            torch.autograd.gradgradcheck(call, leaves)
        except (RuntimeError, ValueError) as error:
            return Seen(f"gradgradcheck: {brief(error)}")
        return _second_against_reference(target, probe)
    if second in ("refused", "constant"):
        return Seen()
    return Seen(
        "a gradient of the gradient is given although the operator is not twice differentiable; "
        "make its backward raise"
    )


def _second(result: Any, leaves: tuple[torch.Tensor, ...]) -> str:
    """What comes of differentiating a gradient: "refused", "given", or "constant"."""
    output = torch.stack([out.sum() for out in tensors(result) if out.requires_grad]).sum()
    first = torch.autograd.grad(output, leaves, create_graph=True, allow_unused=True)
    given = [gradient for gradient in first if gradient is not None]
    if not any(gradient.requires_grad for gradient in given):
        return "constant"
    try:
        total = torch.stack([gradient.sum() for gradient in given]).sum()
        torch.autograd.grad(total, leaves, allow_unused=True)
    except Exception:  # NotImplementedError as well
        return "refused"
    return "given"


def _is_linear(target: Target, probe: Probe) -> bool:
    """Whether the reference, too, has a gradient that does not depend on its arguments."""
    args, kwargs = probe.plain()
    leaves = tuple(takers(target, (args, kwargs)))
    for leaf in leaves:
        leaf.requires_grad_()
    try:
        return _second(target.promise.reference(*args, **kwargs), leaves) == "constant"
    except RuntimeError:  # it cannot be differentiated
        return False


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
    weighted = [(weights(g, 1.0) * g).sum() for g in first if g is not None and g.requires_grad]
    if not weighted:
        return tuple(None for _ in leaves)
    return torch.autograd.grad(torch.stack(weighted).sum(), leaves, allow_unused=True)


TWICE = Check(
    "second gradient",
    "the gradient of the gradient is right, or refused",
    lambda target: [
        probe for probe in target.promise.gradient if probe.num_elements <= NUM_ELEMENTS
    ],
    _test_twice,
    no_gradient,
)
