"""What an operator leaves behind in the process: settings that are not its own."""

import ctypes
import locale
import os
import random
import signal
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch._tensor_str import PRINT_OPTS

from stages.numerics.checks.samples import sample
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
        "gradient mode": torch.is_grad_enabled(),
        "inference mode": torch.is_inference_mode_enabled(),
        "deterministic mode": torch.are_deterministic_algorithms_enabled(),
        "treatment of denormal numbers": float(torch.tensor(1e-310, dtype=torch.float64) * 1),
        "direction of rounding": library.fegetround() if library is not None else None,
        "working folder": os.getcwd(),
        "environment": tuple(sorted(os.environ.items())),
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


def _kernel_settings() -> dict[str, Any]:
    status = Path("/proc/self/status")
    if not status.is_file():
        return {}
    lines = (line.partition(":") for line in status.read_text("utf-8").splitlines())
    values = {name: value.strip() for name, _, value in lines}
    return {f"{words} ({name})": values.get(name) for name, words in _STATUS.items()}


def _test_settings(target: Target, probe: Probe) -> Seen:
    before = _settings()
    target.answer(probe)
    after = _settings()
    changed = [name for name, value in before.items() if after[name] != value]
    return Seen(f"the call changed the {changed[0]} of the process" if changed else None)


SURROUNDINGS = Check(
    "surroundings",
    "settings of the process are left alone",
    lambda target: sample(target.promise.probes, 6, least=2, most=20_000),
    _test_settings,
    can_shrink=False,
)
