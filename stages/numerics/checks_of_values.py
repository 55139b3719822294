"""Checks of values and gradients against the float64 reference."""

import torch

from stages.contract import NumericsCheck
from stages.numerics.comparison import (
    Inputs,
    compare,
    describe,
    first_tensor,
    map_tensors,
    tensors,
    tolerance_for,
)
from stages.numerics.subject import Subject, copy_inputs, failed, passed

DTYPE_SWEEP_ELEMENTS = 5_000
"""Cases up to this size are also tried in every other dtype; larger ones in their own: the
reference is slow."""
GRADCHECK_ELEMENTS = 400
"""Numerical gradients cost two calls an element."""


def check_values(subject: Subject) -> NumericsCheck:
    """Agree with the reference on every case, and on small ones in every dtype of the spec."""
    largest, count, dtypes = 0.0, 0, set()
    for name, case in subject.cases:
        for inputs in _in_every_dtype(subject, case):
            tolerance = tolerance_for(subject.operator.spec.tolerances, inputs)
            found = compare(subject.call(inputs), subject.truth(inputs), tolerance)
            count += 1
            if not found.is_within:
                detail = f"{name}, {describe(inputs)}: {found.detail}"
                return failed("values", count, detail, found.largest)
            largest = max(largest, found.largest)
            dtypes.add(str(first_tensor(inputs).dtype).removeprefix("torch."))
    detail = f"{len(subject.cases)} cases in {', '.join(sorted(dtypes))}"
    return passed("values", count, detail, largest)


def check_zeros_are_refused(subject: Subject) -> NumericsCheck:
    """An output of all zeros must fail the comparison: else the cases could not tell right from
    nothing."""
    count = 0
    for _, inputs in subject.some_cases(8):
        truth = subject.truth(inputs)
        zeros = map_tensors(torch.zeros_like, truth)
        tolerance = tolerance_for(subject.operator.spec.tolerances, inputs)
        if compare(zeros, truth, tolerance).is_within:
            continue  # the truth is all zeros here
        count += 1
        if not any(bool((tensor != 0).any()) for tensor in tensors(subject.call(inputs))):
            return failed("all zeros", count, f"{describe(inputs)}: the output is all zeros")
    if not count:
        return failed("all zeros", 0, "no case would notice an output of all zeros: add one")
    return passed("all zeros", count, f"{count} cases refuse an output of all zeros")


def check_gradient(subject: Subject) -> NumericsCheck:
    """float64 gradcheck; an operator without a gradient must not claim that it has one."""
    name = "gradient"
    if not subject.operator.spec.is_differentiable:
        return _check_claims_no_gradient(subject, name)
    cases = subject.some_cases(3, least=2, most=GRADCHECK_ELEMENTS)
    if not cases:
        return failed(name, 0, f"no case of 2 to {GRADCHECK_ELEMENTS} elements to try gradcheck on")
    for count, (case, inputs) in enumerate(cases, start=1):
        args, kwargs = copy_inputs(inputs)
        first = args[0].double().requires_grad_()
        try:
            torch.autograd.gradcheck(
                lambda *given, named=kwargs: subject.operator.custom(*given, **named),
                (first, *args[1:]),
            )
        except (RuntimeError, ValueError) as error:  # GradcheckError is a RuntimeError
            return failed(name, count, f"{case}: {' '.join(str(error).split())[:300]}")
    return passed(name, len(cases), "float64 gradcheck, default tolerances")


def check_empty(subject: Subject) -> NumericsCheck:
    """An input without elements gives what the reference gives, or is refused by both."""
    count = 0
    for case, inputs in subject.some_cases(3):
        empty = _without_elements(inputs)
        try:
            truth = subject.truth(empty)
        except Exception:  # a reference may refuse it in its own way
            continue
        count += 1
        try:
            result = subject.call(empty)
        except Exception as error:
            return failed("empty", count, f"{case}: {type(error).__name__}: {error}"[:300])
        found = compare(result, truth, tolerance_for(subject.operator.spec.tolerances, empty))
        if not found.is_within:
            return failed("empty", count, f"{case} without elements: {found.detail}", found.largest)
    return passed("empty", count, "as the reference, where it takes an input without elements")


def _in_every_dtype(subject: Subject, case: Inputs) -> list[Inputs]:
    first = first_tensor(case)
    inputs = [case]
    if first.numel() > DTYPE_SWEEP_ELEMENTS:
        return inputs
    for name in subject.operator.spec.dtypes:
        dtype: torch.dtype = getattr(torch, name)
        if dtype == first.dtype or not (dtype.is_floating_point or bool(first.isfinite().all())):
            continue
        inputs.append(_with_dtype(case, first, dtype))
    return inputs


def _with_dtype(inputs: Inputs, first: torch.Tensor, dtype: torch.dtype) -> Inputs:
    changed: Inputs = map_tensors(lambda t: t.to(dtype) if t is first else t, inputs)
    return changed


def _without_elements(inputs: Inputs) -> Inputs:
    """The last axis of the first tensor, and of those of its shape, cut to nothing."""
    shape = first_tensor(inputs).shape
    cut: Inputs = map_tensors(lambda t: t[..., :0] if t.shape == shape and t.dim() else t, inputs)
    return cut


def _check_claims_no_gradient(subject: Subject, name: str) -> NumericsCheck:
    spec = subject.operator.spec
    if not spec.schemas:  # composed of torch's operators, it may well have one
        return passed(name, 0, "has no gradient by its spec, and registers no schema")
    takes_floats = {"float32", "float64"} & set(spec.dtypes)
    cases = subject.some_cases(2) if takes_floats else []
    for count, (case, inputs) in enumerate(cases, start=1):
        args, kwargs = copy_inputs(inputs)
        first = args[0].to(getattr(torch, min(takes_floats))).requires_grad_()
        result = subject.operator.custom(first, *args[1:], **kwargs)
        if any(tensor.requires_grad for tensor in tensors(result)):
            return failed(
                name, count, f"{case}: the output requires a gradient that does not exist"
            )
    return passed(name, len(cases), "has no gradient, and claims none")
