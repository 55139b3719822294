"""What an operator leaves behind in the process: settings that are not its own."""

import ctypes
import os
import signal
from typing import Any

import torch

from stages.numerics.checks.samples import sample
from stages.numerics.probe import Probe
from stages.numerics.trial import Check, Seen, Target


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
        "handling of signals": tuple(str(signal.getsignal(s)) for s in signal.valid_signals()),
    }


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
