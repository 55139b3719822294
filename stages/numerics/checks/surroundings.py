"""An operator and its process: what it leaves behind in it, and what it lets itself be led by."""

import ctypes
import locale
import os
import random
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch._tensor_str import PRINT_OPTS

from stages.numerics.checks.samples import large, sample
from stages.numerics.comparison import compare, tensors
from stages.numerics.probe import Probe
from stages.numerics.trial import Check, Seen, Target

_STATUS = {
    "Umask": "permissions of new files",
    "SigBlk": "blocking of signals",
    "SigIgn": "handling of signals",
    "SigCgt": "handling of signals",
    "Cpus_allowed": "processors that may be used",
}
"""What the kernel says of this process, whatever Python was told."""


def _settings() -> dict[str, Any]:
    """What a call may not change, by what it is called."""
    library = ctypes.CDLL("libm.so.6") if os.path.exists("/proc/self/maps") else None
    return {
        "number of threads": torch.get_num_threads(),
        "default dtype": torch.get_default_dtype(),
        "state of the random generator": tuple(torch.get_rng_state().tolist()),
        "state of NumPy's random generator": str(np.random.get_state()),
        "state of Python's random generator": random.getstate(),
        "gradient mode": torch.is_grad_enabled(),
        "inference mode": torch.is_inference_mode_enabled(),
        "deterministic mode": torch.are_deterministic_algorithms_enabled(),
        "treatment of denormal numbers": float(torch.tensor(1e-310, dtype=torch.float64) * 1),
        "direction of rounding": library.fegetround() if library is not None else None,
        "working folder": os.getcwd(),
        "environment": _environment(),
        "handling of signals in Python": [
            str(signal.getsignal(number)) for number in signal.valid_signals()
        ],
        "random generator of Python": hash(random.getstate()),
        "random generator of NumPy": str(np.random.get_state(legacy=False)["state"]),
        "locale": locale.setlocale(locale.LC_ALL),
        "niceness": os.nice(0),
        "filters of warnings": list(map(str, warnings.filters)),
        "default device": str(torch.get_default_device()),
        "printing of tensors": str(PRINT_OPTS),
        **_kernel_settings(),
    }


def _environment() -> list[bytes]:
    """As C sees it: `os.environ` is a copy."""
    try:
        entries = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
    except ValueError:  # no such symbol here
        return [f"{key}={value}".encode() for key, value in sorted(os.environ.items())]
    found: list[bytes] = []
    while (entry := entries[len(found)]) is not None:  # a null pointer ends them
        found.append(entry)
    return sorted(found)


def _kernel_settings() -> dict[str, Any]:
    status = Path("/proc/self/status")
    if not status.is_file():
        return {}
    lines = (line.partition(":") for line in status.read_text("utf-8").splitlines())
    values = {name: value.strip() for name, _, value in lines}
    return {f"{words} ({name})": values.get(name) for name, words in _STATUS.items()}


def _test_settings(target: Target, probe: Probe) -> Seen:
    before = _settings()
    with tempfile.TemporaryFile() as file:
        said = _said(lambda: target.answer(probe), file.fileno())
    after = _settings()
    changed = [name for name, value in before.items() if after[name] != value]
    if changed:
        return Seen(f"the call changed the {changed[0]} of the process")
    return Seen(f"the call prints {said[:80]!r}" if said else None)


def _said(call: Callable[[], object], into: int) -> str:
    """What a call writes to the standard output."""
    sys.stdout.flush()
    kept = os.dup(1)
    try:
        os.dup2(into, 1)
        call()
        sys.stdout.flush()
        ctypes.CDLL(None).fflush(None)
    finally:
        os.dup2(kept, 1)
        os.close(kept)
    return os.pread(into, 1000, 0).decode("utf-8", "replace")


class _DefaultDouble:
    """float64 as what `torch.empty(shape)` makes."""

    def __enter__(self) -> None:
        torch.set_default_dtype(torch.float64)

    def __exit__(self, *_: object) -> None:
        torch.set_default_dtype(torch.float32)


class _Deterministic:
    """Deterministic algorithms, which also fill fresh memory."""

    def __enter__(self) -> None:
        torch.use_deterministic_algorithms(True)

    def __exit__(self, *_: object) -> None:
        torch.use_deterministic_algorithms(False)


SETTINGS: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "float64 as the default dtype": _DefaultDouble,
    "deterministic algorithms": _Deterministic,
    "inference mode": torch.inference_mode,
    "gradient mode": torch.enable_grad,
}


def _test_led(target: Target, probe: Probe) -> Seen:
    """The same result whatever the process has set for its own ends."""
    expected = target.answer(probe)
    for name, setting in SETTINGS.items():
        args, kwargs = probe.inputs()
        with setting():
            result = target.call(*args, **kwargs)
        found = compare(result, expected, target.promise.tolerance(probe))
        if not found.is_within or not _are_alike(result, expected):
            return Seen(f"{found.detail or 'another dtype'} under {name}")
    return Seen()


def _are_alike(one: Any, other: Any) -> bool:
    return [tensor.dtype for tensor in tensors(one)] == [tensor.dtype for tensor in tensors(other)]


def _samples(target: Target) -> list[Probe]:
    return [
        *sample(target.promise.probes, 6, least=2, most=20_000),
        *large(target, 1),
    ]


SURROUNDINGS = Check(
    "surroundings",
    "settings of the process are left alone, and nothing is printed",
    _samples,
    _test_settings,
    can_shrink=False,
)
LED = Check(
    "settings",
    "settings of the process do not change the result",
    _samples,
    _test_led,
    can_shrink=False,
)
