"""Gradients of an operator and of its float64 reference, and how far the two are apart."""

from collections.abc import Iterator
from typing import Any

import torch

from stages.numerics.comparison import tensors
from stages.numerics.probe import Probe, dtype_name
from stages.numerics.trial import Target

RELATIVE = {torch.float64: 1e-9, torch.float32: 2e-5, torch.float16: 1e-2, torch.bfloat16: 8e-2}
"""Of the largest gradient; rounding of the dtype, and of sums over the elements."""
NUDGES = 8
Gradients = tuple[torch.Tensor | None, ...]


def no_gradient(target: Target) -> str | None:
    """Why gradients are not asked for."""
    return None if target.promise.is_twice_differentiable is not None else "it has no gradient"


def takers(target: Target, tree: Any) -> list[torch.Tensor]:
    """The tensors among arguments that take a gradient."""
    floating = [tensor for tensor in tensors(tree) if tensor.is_floating_point()]
    places = target.promise.gradient_places
    return floating if places is None else [floating[p] for p in places if p < len(floating)]


def gradients_of(
    target: Target, call: Any, inputs: Any, incoming: float, wanted: tuple[int, ...]
) -> Gradients:
    args, kwargs = inputs
    leaves = takers(target, (args, kwargs))
    for place in wanted:
        leaves[place].requires_grad_()
    outputs = [out for out in tensors(call(*args, **kwargs)) if out.is_floating_point()]
    chosen = [leaves[place] for place in wanted]
    reached = [output for output in outputs if output.requires_grad]
    if not reached:
        raise RuntimeError("no result requires a gradient although an argument does")
    incomings = [weights(output, incoming) for output in reached]
    return torch.autograd.grad(reached, chosen, incomings, allow_unused=True)


def weights(output: torch.Tensor, scale: float) -> torch.Tensor:
    """Incoming gradients that differ between elements."""
    generator = torch.Generator().manual_seed(output.numel())
    weights = torch.rand(output.shape, generator=generator, dtype=torch.float64) + 0.5
    factor = scale if not output.dim() else scale * weights
    return torch.ones_like(output) * torch.as_tensor(factor, dtype=output.dtype)


def expected_gradients(
    target: Target, probe: Probe, incoming: float, wanted: tuple[int, ...]
) -> Gradients | None:
    """None where the reference cannot be differentiated: gradcheck has to do then."""
    doubled = probe.with_tensors(lambda t: t.double() if t.is_floating_point() else t)
    try:
        return gradients_of(target, target.promise.reference, doubled.plain(), incoming, wanted)
    except RuntimeError:
        return None


def compare_gradients(
    target: Target,
    found: Gradients,
    expected: Gradients,
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
        if scale > torch.finfo(leaf.dtype).max / 2:
            continue  # nothing can hold it
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


def is_rounding(
    target: Target, probe: Probe, incoming: float, found: Gradients, expected: Gradients
) -> bool:
    """Whether the truth moves about as far when one argument changes by its last digit: where large
    terms cancel, nothing is left but their rounding."""
    nudged = [
        expected_gradients(target, changed, incoming, tuple(range(len(expected))))
        for changed in _nudged(probe)
    ]
    for place, (got, truth) in enumerate(zip(found, expected, strict=True)):
        if truth is None or not truth.numel():
            continue
        if got is None or got.shape != truth.shape:
            return False
        moved = [others[place] for others in nudged if others is not None]
        moves = [(other - truth).abs() for other in moved if other is not None]
        allowed = NUDGES * torch.stack(moves).amax(0) if moves else torch.zeros_like(truth)
        if not bool(((got.double() - truth).abs() <= allowed).all()):
            return False
    return True


def _nudged(probe: Probe) -> Iterator[Probe]:
    """With one argument larger by its last digit."""
    for place, tensor in enumerate(probe.tensors):
        if tensor.is_floating_point():
            yield probe.with_tensor(place, tensor.double() * (1 + torch.finfo(tensor.dtype).eps))
