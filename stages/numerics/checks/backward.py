"""The pass backward, between which and the one forward other code runs."""

from typing import Any

import torch

from stages.numerics.checks.differentiation import RELATIVE, Gradients, no_gradient, takers
from stages.numerics.checks.samples import sample
from stages.numerics.comparison import tensors
from stages.numerics.probe import Probe
from stages.numerics.trial import Check, Seen, Target


def _test_backward(target: Target, probe: Probe) -> Seen:
    """Twice through one graph; then once more after every argument was changed in place, which has
    to be noticed, or not to matter."""
    args, kwargs = probe.inputs()
    leaves = takers(target, (args, kwargs))
    for leaf in leaves:
        leaf.requires_grad_()
    outputs = [out for out in tensors(target.call(*args, **kwargs)) if out.requires_grad]
    if not outputs:
        return Seen()  # another check says so
    total = torch.stack([output.double().sum() for output in outputs]).sum()

    def differentiate() -> Gradients:
        gradients: Any = torch.autograd.grad(total, leaves, retain_graph=True, allow_unused=True)
        return tuple(gradients)

    first = differentiate()
    if not _are_close(differentiate(), first):
        return Seen("a second pass backward through the same graph gives other gradients")
    with torch.no_grad():
        for leaf in leaves:
            leaf.mul_(0.5)
    try:
        later = differentiate()
    except RuntimeError:  # autograd has noticed
        return Seen()
    if _are_close(later, first):
        return Seen()
    return Seen(
        "an argument that was changed after the call makes gradients wrong without an error; keep "
        "arguments by ctx.save_for_backward"
    )


def _are_close(some: Gradients, others: Gradients) -> bool:
    pairs = [(a, b) for a, b in zip(some, others, strict=True) if a is not None and b is not None]
    return all(
        float((a - b).abs().max()) <= RELATIVE.get(a.dtype, 1e-9) * float(b.abs().max())
        for a, b in pairs
        if a.numel()
    )


BACKWARD = Check(
    "backward",
    "the pass backward can be repeated, and notices arguments that were changed since the call",
    lambda target: sample(target.promise.gradient, 4, least=2),
    _test_backward,
    no_gradient,
)
