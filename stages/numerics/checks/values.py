"""Values: right on every size, dtype and kind of input, or refused where it has to be."""

from dataclasses import replace

import torch

from stages.numerics.apart import brief
from stages.numerics.checks.holding import describe_result, hold_to_truth
from stages.numerics.comparison import are_same_bits, compare
from stages.numerics.probe import Probe
from stages.numerics.trial import Check, Seen, Target

HALVES = (torch.float16, torch.bfloat16)


def _is_half(probe: Probe) -> bool:
    return any(tensor.dtype in HALVES for tensor in probe.tensors)


def _full(target: Target) -> list[Probe]:
    return [probe for probe in target.promise.probes if not _is_half(probe)]


def _halves(target: Target) -> list[Probe]:
    every = (*target.promise.probes, *target.promise.stress)
    return [probe for probe in every if _is_half(probe)]


def _large(target: Target) -> list[Probe]:
    every = (*target.promise.stress, *target.promise.huge)
    return [probe for probe in every if not _is_half(probe)]


def _hold_at_job_size(target: Target, probe: Probe) -> Seen:
    """Against the stand-in, which rounds as well: twice the tolerance, for the two of them."""
    assert target.promise.stand_in is not None
    args, kwargs = probe.plain()
    with torch.no_grad():
        expected = target.promise.stand_in(*args, **kwargs)
    tolerance = target.promise.tolerance(probe)
    both = replace(tolerance, absolute=2 * tolerance.absolute, relative=2 * tolerance.relative)
    found = compare(target.answer(probe), expected, both)
    fault = None if found.is_within else f"{found.detail} (a standard form)"
    return Seen(fault, found.largest)


def _refuse(target: Target, probe: Probe) -> Seen:
    """An exception in whatever words, after which a usual call is answered as before."""
    usual = target.promise.probes[len(target.promise.probes) // 2]
    before = target.answer(usual)
    try:
        result = target.answer(probe)
    except Exception:
        try:
            is_as_before = are_same_bits(target.answer(usual), before)
        except Exception as error:
            return Seen(f"after a call that it refused it raised {brief(error)}")
        return Seen(None if is_as_before else "after a call that it refused it answers otherwise")
    return Seen(f"answered {describe_result(result)} to a call that it must refuse")


VALUES = Check(
    "values",
    "right on every size, dtype and pattern",
    _full,
    hold_to_truth,
)
HALF_PRECISION = Check(
    "half_precision",
    "float16 and bfloat16 lose no more than their own digits",
    _halves,
    hold_to_truth,
    lambda target: None if _halves(target) else "it takes no half precision",
)
STRESS = Check(
    "stress",
    "right on large inputs: many components, long lines, sums of a million terms",
    _large,
    hold_to_truth,
    lambda target: None if target.promise.stress else "no large calls are stated",
)
JOB = Check(
    "real size",
    "right at the size of the real job",
    lambda target: target.promise.job,
    _hold_at_job_size,
    lambda target: (
        None
        if target.promise.job and target.promise.stand_in
        else "the size of the job is not known, or no standard form is right"
    ),
    trial_limit_s=60.0,
    can_shrink=False,
)
NAN = Check(
    "nan",
    "NaN and infinities are passed on or refused as the reference does",
    lambda target: target.promise.special,
    hold_to_truth,
    lambda target: None if target.promise.special else "it takes no floating values",
)
EMPTY = Check(
    "empty",
    "inputs without elements are answered or refused as the reference does",
    lambda target: target.promise.empty,
    hold_to_truth,
    lambda target: None if target.promise.empty else "no empty calls are stated",
)
REFUSALS = Check(
    "refusals",
    "calls outside of the contract are refused by an exception",
    lambda target: target.promise.refused,
    _refuse,
    lambda target: None if target.promise.refused else "no calls to refuse are stated",
    can_shrink=False,
)
