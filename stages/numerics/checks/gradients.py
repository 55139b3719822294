"""Gradients: there, right, scaled by what comes in, for every argument and every precision."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import torch

from stages.numerics.apart import brief
from stages.numerics.checks.differentiation import (
    compare_gradients,
    expected_gradients,
    gradients_of,
    is_rounding,
    no_gradient,
    takers,
)
from stages.numerics.checks.samples import sample
from stages.numerics.comparison import compare, tensors
from stages.numerics.layouts import fitting
from stages.numerics.probe import Probe
from stages.numerics.trial import Check, Seen, Target

GRADCHECK_ELEMENTS = 60
INCOMING = (1.0, -3.7, 0.0, 4096.0)
"""The last as a loss scaled for half precision has it."""


def _test_against_reference(target: Target, probe: Probe) -> Seen:
    """Against autograd through the float64 reference, for each incoming gradient."""
    count = len(takers(target, probe.inputs()))
    worst = 0.0
    fault = _forward_fault(target, probe)
    if fault is not None:
        return Seen(fault)
    every = tuple(range(count))
    unscaled = expected_gradients(target, probe, 1.0, every)
    if unscaled is None:
        return Seen()
    for incoming in INCOMING:
        expected = tuple(None if truth is None else incoming * truth for truth in unscaled)
        found = gradients_of(target, target.call, probe.inputs(), incoming, every)
        fault, error = compare_gradients(target, found, expected, probe)
        worst = max(worst, error)
        if fault is not None and not is_rounding(target, probe, incoming, found, expected):
            scale = "" if incoming == 1.0 else f" with an incoming gradient of {incoming:g}"
            return Seen(f"{fault}{scale}", worst)
    return Seen(None, worst)


def _forward_fault(target: Target, probe: Probe) -> str | None:
    """The value must not depend on whether a gradient is asked for."""
    args, kwargs = probe.inputs()
    for leaf in takers(target, (args, kwargs)):
        leaf.requires_grad_()
    result = target.call(*args, **kwargs)
    found = compare(result, target.answer(probe), target.promise.tolerance(probe))
    return None if found.is_within else f"{found.detail} once a gradient is asked for"


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


def _test_subset(target: Target, probe: Probe) -> Seen:
    """Any choice of arguments that take a gradient: the others may not disturb."""
    count = len(takers(target, probe.inputs()))
    for size in range(1, count):
        for wanted in combinations(range(count), size):
            expected = expected_gradients(target, probe, 1.0, wanted)
            if expected is None:
                return Seen()
            found = gradients_of(target, target.call, probe.inputs(), 1.0, wanted)
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
        expected = expected_gradients(target, probe, 1.0, every)
    except Exception:  # NaN that is refused has no gradient
        return Seen()
    if expected is None:
        return Seen()
    found = gradients_of(target, target.call, probe.inputs(), 1.0, every)
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
    large = sample(target.promise.stress, 3, least=10_000, most=100_000)
    for probe in [*sample(target.promise.probes, 60, most=5_000), *large]:
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
SUBSETS = Check(
    "gradient of some",
    "arguments without a gradient do not disturb those with one",
    lambda target: sample(target.promise.gradient, 4, least=2),
    _test_subset,
    no_gradient,
)
