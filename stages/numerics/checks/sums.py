"""Rounding: does the error stay within what the standard form itself makes, at every size?"""

import torch

from stages.numerics.comparison import tensors
from stages.numerics.probe import Probe
from stages.numerics.trial import Check, Seen, Target

FLOOR_ROUNDINGS = 2.0
"""Roundings of the result's dtype that any form may make."""
SLACK = 2.0
"""Times the envelope: it is the largest of a few orders, not of all."""


def error_of(result: object, truth: object) -> float:
    """Largest difference from the truth, in units of the truth's size or 1."""
    worst = 0.0
    for one, other in zip(tensors(result), tensors(truth), strict=True):
        scale = other.double().abs().clamp(min=1.0)
        finite = other.isfinite()
        difference = ((one.double() - other.double()).abs() / scale)[finite]
        worst = max(worst, float(difference.max()) if difference.numel() else 0.0)
    return worst


def envelope(target: Target, probe: Probe) -> dict[str, float]:
    """The error of the standard form, by its order of summation."""
    truth = target.truth(probe)
    errors = {}
    for name, standard in target.promise.orders.items():
        args, kwargs = probe.plain()
        with torch.no_grad():
            errors[name] = error_of(standard(*args, **kwargs), truth)
    return errors


def _test_envelope(target: Target, probe: Probe) -> Seen:
    result = target.answer(probe)
    own = error_of(result, target.truth(probe))
    floating = [tensor for tensor in tensors(result) if tensor.is_floating_point()]
    floor = FLOOR_ROUNDINGS * max((torch.finfo(t.dtype).eps for t in floating), default=0.0)
    widest = max(*envelope(target, probe).values(), floor)
    if own <= SLACK * widest:
        return Seen(None, own, widest)
    fault = (
        f"error {own:.2g}, beyond the {widest:.2g} that the standard form makes in any order "
        "of its sums"
    )
    return Seen(fault, own, widest)


def _sizes(target: Target) -> list[Probe]:
    assert target.promise.sized is not None
    return [target.promise.sized(size).noting(size=f"{size}") for size in target.promise.sizes]


ENVELOPE = Check(
    "envelope",
    "the error stays within that of the standard form, in any order of its sums, at every size",
    _sizes,
    _test_envelope,
    lambda target: (
        None
        if target.promise.orders and target.promise.sized
        else "it sums nothing, or no standard form is stated"
    ),
    can_shrink=False,
)
