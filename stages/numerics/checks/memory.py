"""What an operator does with memory that is not its own, or not yet written."""

import ctypes
from dataclasses import replace
from typing import Any

import torch

from stages.numerics.checks.differentiation import takers
from stages.numerics.checks.samples import MOST_PARALLEL, large, sample, with_layouts
from stages.numerics.comparison import are_same_bits, compare, tensors
from stages.numerics.probe import Probe
from stages.numerics.trial import Check, Seen, Target

_M_PERTURB = -6
"""glibc's mallopt: fill fresh and freed memory with a byte."""


def _test_layout(target: Target, probe: Probe) -> Seen:
    args, kwargs = probe.plain()
    with torch.no_grad():
        expected = target.call(*args, **kwargs)
    found = compare(target.answer(probe), expected, target.promise.tolerance(probe))
    fault = None if found.is_within else f"{found.detail} on a view (than on its contiguous copy)"
    return Seen(fault, found.largest)


def _storages(arguments: Any) -> list[bytes]:
    """All bytes behind the tensors, gaps between their elements included."""
    storages = [tensor.cpu().untyped_storage() for tensor in tensors(arguments)]
    return [ctypes.string_at(s.data_ptr(), s.nbytes()) if s.nbytes() else b"" for s in storages]


def _test_mutation(target: Target, probe: Probe) -> Seen:
    """Forward, and backward where there is one."""
    args, kwargs = probe.inputs()
    before = _storages((args, kwargs))
    needs = target.promise.is_twice_differentiable is not None
    given = tensors((args, kwargs))
    if needs:
        for tensor in takers(target, (args, kwargs)):
            tensor.requires_grad_()
    try:
        with torch.set_grad_enabled(needs):
            result = target.call(*args, **kwargs)
    except Exception:  # a refused call may not leave its arguments changed either
        return Seen(_changed(before, args, kwargs, "a call that was refused"))
    fault = _changed(before, args, kwargs, "the call")
    if fault is None and needs:
        leaves = [tensor for tensor in given if tensor.requires_grad]
        outputs = [tensor for tensor in tensors(result) if tensor.requires_grad]
        if leaves and outputs:
            incoming = [torch.full_like(output, 0.5) for output in outputs]
            torch.autograd.grad(outputs, leaves, incoming, allow_unused=True)
            fault = _changed(before, args, kwargs, "the backward pass")
            if fault is None and any(bool((gradient != 0.5).any()) for gradient in incoming):
                fault = "the incoming gradient was changed by the backward pass"
    return Seen(fault)


def _changed(before: list[bytes], args: Any, kwargs: Any, by: str) -> str | None:
    for place, (old, new) in enumerate(zip(before, _storages((args, kwargs)), strict=True)):
        if old != new:
            return f"tensor {place} was changed by {by}, and the schema does not say so"
    return None


def _test_aliasing(target: Target, probe: Probe) -> Seen:
    """No result shares memory with an argument, with another result, or with an earlier one."""
    args, kwargs = probe.inputs()
    try:
        with torch.no_grad():
            result = target.call(*args, **kwargs)
    except Exception:  # other checks ask whether it may refuse this
        return Seen()
    given = {t.untyped_storage().data_ptr() for t in tensors((args, kwargs)) if t.numel()}
    places = [t.untyped_storage().data_ptr() for t in tensors(result) if t.numel()]
    if any(tensor.is_inference() for tensor in tensors(result)):
        return Seen("a result is an inference tensor: nobody may change it or differentiate on it")
    if given & set(places):
        return Seen("a result shares its storage with an argument; the schema says it is fresh")
    if len(set(places)) < len(places):
        return Seen("two results share their storage")
    kept = [tensor.clone() for tensor in tensors(result)]
    flipped = probe.with_tensors(lambda t: t.flip(0) if t.dim() else t)
    try:
        again = target.answer(flipped)
    except Exception:  # the flipped call may be one that is refused
        return Seen()
    if {t.untyped_storage().data_ptr() for t in tensors(again) if t.numel()} & set(places):
        return Seen("the result of a later call shares its storage with an earlier one")
    if not are_same_bits(kept, tensors(result)):
        return Seen("a result changed when the operator was called again")
    return Seen()


def _aliasing_probes(target: Target) -> list[Probe]:
    """Also masks of 0 and 1, and what is its own result: some return it when nothing is to do."""
    probes = sample(target.promise.probes, 60, most=20_000)
    own = []
    for probe in probes:
        place, first = 0, probe.tensors[0] if probe.tensors else None
        if first is None:
            continue
        for dtype in _dtypes(target):
            own.append(probe.with_tensor(place, (first != 0).to(dtype)).noting(values="0 and 1"))
    return probes + sample(own, 60)


def _dtypes(target: Target) -> list[torch.dtype]:
    """Of the first tensor, over all promised calls."""
    first = (probe.tensors[0].dtype for probe in target.promise.probes if probe.tensors)
    return list(dict.fromkeys(first))


def _test_own_result(target: Target, probe: Probe) -> Seen:
    """The operator's result as its argument, where it fits."""
    try:
        result = target.answer(probe)
    except Exception:
        return Seen()
    outputs = tensors(result)
    first = probe.tensors[0]
    if len(outputs) != 1 or outputs[0].shape != first.shape:
        return _test_aliasing(target, probe)
    return _test_aliasing(target, probe.with_tensor(0, outputs[0].contiguous()))


def _test_alias_both(target: Target, probe: Probe) -> Seen:
    seen = _test_aliasing(target, probe)
    return seen if seen.fault is not None else _test_own_result(target, probe)


def _test_unwritten(target: Target, probe: Probe) -> Seen:
    """The result over memory full of two kinds of garbage: what was not written differs."""
    results = []
    library = ctypes.CDLL(None)
    for byte in (0x11, 0x11, 0xEE):
        library.mallopt(_M_PERTURB, byte)
        results.append(target.answer(probe))
    library.mallopt(_M_PERTURB, 0)
    if not are_same_bits(results[0], results[1]):
        return Seen()  # it varies by itself, which is for another check to say
    if not are_same_bits(results[1], results[2]):
        return Seen("the result depends on what fresh memory holds: something is not written")
    return Seen()


def _test_stale(target: Target, probe: Probe) -> Seen:
    """A second call on the same memory with other values, and a third on a part of it."""
    args, kwargs = probe.inputs()
    with torch.no_grad():
        target.call(*args, **kwargs)
        for tensor in tensors((args, kwargs)):
            if tensor.dim() and tensor.numel():
                tensor.copy_(tensor.flip(0).flip(-1).clone())
        changed = target.call(*args, **kwargs)
        copies = [tensor.clone() for tensor in tensors((args, kwargs))]
    fresh = replace(probe, layouts={})
    for place, copy in enumerate(copies):
        fresh = fresh.with_tensor(place, copy)
    expected = target.truth(fresh)
    found = compare(changed, expected, target.promise.tolerance(fresh))
    if not found.is_within:
        return Seen(f"{found.detail} after the input was changed in place", found.largest)
    part = probe.with_tensors(_most_of_it)
    for shown, after in ((part, "larger"), (probe, "smaller")):
        try:
            expected = target.truth(shown)
        except Exception:  # the part may be one that is refused
            return Seen(None, found.largest)
        found = compare(target.answer(shown), expected, target.promise.tolerance(shown))
        if not found.is_within:
            return Seen(f"{found.detail} after a call on a {after} input", found.largest)
    return Seen(None, found.largest)


def _most_of_it(tensor: torch.Tensor) -> torch.Tensor:
    """All but the last along every axis that can be cut."""
    return tensor[tuple(slice(0, -1) if n > 2 else slice(None) for n in tensor.shape)].contiguous()


def has_glibc() -> bool:
    library = ctypes.CDLL(None)
    return hasattr(library, "mallinfo2") and hasattr(library, "mallopt")


def needs_glibc(target: Target) -> str | None:
    if target.device != "cpu":
        return f"its memory is on {target.device}"
    return None if has_glibc() else "the C library is not glibc 2.33 or later"


LAYOUT = Check(
    "layout",
    "a view gives what its contiguous copy gives",
    lambda target: [
        *with_layouts(target.promise.probes, 12),
        *with_layouts(large(target, 2), 3, most=MOST_PARALLEL),
    ],
    _test_layout,
)
MUTATION = Check(
    "mutation",
    "no argument is written to, not even between its elements",
    lambda target: [
        *sample(target.promise.probes, 60, most=20_000),
        *sample(target.promise.special, 12),
        *sample(target.promise.gradient, 6),
        *with_layouts(target.promise.probes, 4),
    ],
    _test_mutation,
)
ALIASING = Check(
    "aliasing",
    "results are fresh memory",
    _aliasing_probes,
    _test_alias_both,
)
UNWRITTEN = Check(
    "unwritten",
    "every element of the result is written",
    lambda target: [
        *sample(target.promise.probes, 40, most=20_000),
        *target.promise.empty,
        *large(target, 3),
    ],
    _test_unwritten,
    needs_glibc,
)
STALE = Check(
    "stale",
    "nothing of an earlier call is left",
    lambda target: sample(target.promise.probes, 40, least=2, most=5_000),
    _test_stale,
)
