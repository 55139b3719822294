"""What calls leave behind, call after call: memory, files, threads."""

import ctypes
import gc
import os
from pathlib import Path

import torch

from stages.numerics.checks.differentiation import takers
from stages.numerics.checks.memory import needs_glibc
from stages.numerics.checks.samples import sample
from stages.numerics.comparison import tensors
from stages.numerics.probe import Probe
from stages.numerics.trial import Check, Seen, Target

NUM_CALLS, NUM_ROUNDS = 120, 4
LEAST_BYTES = 32
"""A call: the least that glibc hands out."""
LEAST_MAPPED = 4096


def _test_leak(target: Target, probe: Probe) -> Seen:
    """What is in use after hundreds of calls: it may settle, it may not grow without end."""
    growth: list[dict[str, int]] = []
    for _ in range(NUM_ROUNDS):
        before = _in_use()
        for _ in range(NUM_CALLS):
            _call(target, probe)
        growth.append({what: count - before[what] for what, count in _in_use().items()})
    least = {what: min(round[what] for round in growth[1:]) for what in growth[0]}
    if least["bytes"] >= LEAST_BYTES * NUM_CALLS:
        return Seen(
            f"memory grows by {least['bytes'] / NUM_CALLS:.0f} bytes a call, call after call"
        )
    if least["mapped bytes"] >= LEAST_MAPPED * NUM_CALLS:
        each = least["mapped bytes"] / NUM_CALLS
        return Seen(f"mapped memory grows by {each:.0f} bytes a call, call after call")
    for what in ("open files", "threads"):
        if least[what] > 0:
            return Seen(f"{least[what]} more {what} after every {NUM_CALLS} calls")
    return Seen()


def _call(target: Target, probe: Probe) -> None:
    """Forward, and backward where there is one; a refusal may not keep anything either."""
    args, kwargs = probe.inputs()
    needs = target.promise.is_twice_differentiable is not None
    leaves = takers(target, (args, kwargs)) if needs else []
    for leaf in leaves:
        leaf.requires_grad_()
    try:
        with torch.set_grad_enabled(needs):
            outputs = [out for out in tensors(target.call(*args, **kwargs)) if out.requires_grad]
    except Exception:  # other checks ask whether it may
        return
    if outputs:
        torch.autograd.grad([out.sum() for out in outputs], leaves, allow_unused=True)


class _Usage(ctypes.Structure):
    """glibc's mallinfo2."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            "arena",
            "ordblks",
            "smblks",
            "hblks",
            "hblkhd",
            "usmblks",
            "fsmblks",
            "uordblks",
            "fordblks",
            "keepcost",
        )
    )


def _in_use() -> dict[str, int]:
    gc.collect()
    library = ctypes.CDLL(None)
    library.mallinfo2.restype = _Usage
    usage = library.mallinfo2()
    return {
        "bytes": int(usage.uordblks + usage.hblkhd),
        "mapped bytes": int(Path("/proc/self/statm").read_text().split()[0])
        * os.sysconf("SC_PAGE_SIZE"),
        "open files": len(os.listdir("/proc/self/fd")),
        "threads": len(os.listdir("/proc/self/task")),
    }


LEAK = Check(
    "leak",
    "memory, open files and threads do not grow call after call",
    lambda target: [
        *sample(target.promise.probes, 2, least=8, most=2_000),
        *sample(target.promise.refused, 1),
    ],
    _test_leak,
    needs_glibc,
    can_shrink=False,
)
