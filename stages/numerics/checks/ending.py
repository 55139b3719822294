"""The end of a program that has called the operator: threads and static objects are taken down."""

import ctypes
import os
import signal
import sys
import threading
import time

from stages.numerics.checks.samples import sample
from stages.numerics.probe import Probe
from stages.numerics.trial import Check, Seen, Target

LIMIT_S = 25.0


def _test_ending(target: Target, probe: Probe) -> Seen:
    """A process that calls, once from a thread that then ends, and leaves by C's `exit`."""
    child = os.fork()
    if not child:
        caller = threading.Thread(target=_call, args=(target, probe))
        caller.start()
        caller.join()
        _call(target, probe)
        sys.stdout.flush()
        ctypes.PyDLL(None).exit(0)
    until = time.monotonic() + LIMIT_S
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            words = signal.Signals(-code).name if code < 0 else f"status {code}"
            return Seen(f"a program that has called it ends with {words}" if code else None)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return Seen(f"a program that has called it does not end within {LIMIT_S:g} s")


def _call(target: Target, probe: Probe) -> None:
    try:
        target.answer(probe)
    except Exception:  # other checks ask whether it may
        return


ENDING = Check(
    "ending",
    "a program that has called it ends in order",
    lambda target: sample(target.promise.probes, 2, least=8, most=20_000)[-1:],
    _test_ending,
    lambda target: None if target.device == "cpu" else "CUDA does not survive a fork",
    can_shrink=False,
)
