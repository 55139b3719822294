"""Hold one result to the truth; shared by the checks that compare values."""

from typing import Any

import torch
from torch.utils._pytree import tree_flatten

from stages.numerics.apart import brief
from stages.numerics.comparison import compare, tensors
from stages.numerics.probe import Probe, dtype_name
from stages.numerics.promise import promised_dtypes
from stages.numerics.trial import Seen, Target


def hold_to_truth(target: Target, probe: Probe) -> Seen:
    """The operator must answer as the reference does, or refuse where that refuses."""
    try:
        truth = target.truth(probe)
    except Exception as refusal:  # a reference refuses in its own words
        return _must_refuse(target, probe, brief(refusal, 120))
    return hold(target, probe, target.answer(probe), truth)


def hold(target: Target, probe: Probe, result: Any, truth: Any) -> Seen:
    """Structure, dtypes, values."""
    leaves, _ = tree_flatten(result)
    if not all(isinstance(leaf, torch.Tensor) for leaf in leaves):
        return Seen(f"returned {type(result).__name__} instead of tensors")
    wanted = promised_dtypes(target.promise, probe)
    got = tuple(tensor.dtype for tensor in tensors(result))
    if wanted is not None and got != wanted:
        return Seen(
            f"returned {', '.join(map(dtype_name, got))} "
            f"instead of {', '.join(map(dtype_name, wanted))}"
        )
    found = compare(result, truth, target.promise.tolerance(probe))
    return Seen(None if found.is_within else f"{found.detail} (reference)", found.largest)


def _must_refuse(target: Target, probe: Probe, refusal: str) -> Seen:
    try:
        result = target.answer(probe)
    except Exception:
        return Seen()
    return Seen(f"answered {describe_result(result)} where the reference refuses ({refusal})")


def describe_result(result: Any) -> str:
    """Shape, dtype and whether it is finite, in a few words."""
    words = []
    for tensor in tensors(result):
        finite = "" if bool(tensor.isfinite().all()) else ", not finite"
        words.append(f"{tuple(tensor.shape)} {dtype_name(tensor.dtype)}{finite}")
    return " and ".join(words) or repr(result)[:80]
