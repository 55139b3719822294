"""Run all checks, each in a process of its own: `python -m stages.numerics.battery`.

This process imports what is heavy and nothing of the operator; each check is forked from it, so
that a crash, a hang or a runaway allocation is a finding of that check, and the next one starts
afresh. Nothing here may run a parallel torch operator: OpenMP does not survive a fork.
"""

import multiprocessing
import os
import resource
import signal
import sys
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path

import torch._dynamo
import torch.export
import torch.testing._internal.optests  # noqa: F401 - what opcheck imports when first called

from stages.contract import NumericsCheck
from stages.numerics.checks_of_determinism import check_repeats, check_threads
from stages.numerics.checks_of_graphs import (
    check_compiled,
    check_exported,
    check_fake,
    check_schema,
)
from stages.numerics.checks_of_memory import (
    check_aliasing,
    check_inputs_unchanged,
    check_layouts,
)
from stages.numerics.checks_of_values import (
    check_empty,
    check_gradient,
    check_values,
    check_zeros_are_refused,
)
from stages.numerics.subject import Check, failed, open_subject

CHECKS: Mapping[str, Check] = {
    "values": check_values,
    "all zeros": check_zeros_are_refused,
    "layouts": check_layouts,
    "inputs unchanged": check_inputs_unchanged,
    "aliasing": check_aliasing,
    "repeats": check_repeats,
    "threads": check_threads,
    "fake": check_fake,
    "gradient": check_gradient,
    "opcheck": check_schema,
    "compiled": check_compiled,
    "exported": check_exported,
    "empty": check_empty,
}
_SPARE_ADDRESS_SPACE = 8 * 2**30
"""Threads and allocators reserve far more addresses than they use."""


def run_check(
    name: str, folder: str, library: Path | None, device: str, time_limit_s: float
) -> NumericsCheck:
    """Run one check in a forked process, and turn its death into a finding."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_work, args=(name, folder, library, device, sender))
    child.start()
    sender.close()
    try:
        if not receiver.poll(time_limit_s):
            return failed(name, 0, f"took longer than {time_limit_s:g} s and was ended")
        return NumericsCheck.model_validate_json(receiver.recv_bytes())
    except EOFError:
        child.join()
        return failed(name, 0, f"the process {_describe_exit(child.exitcode)}")
    finally:
        if child.is_alive():
            child.kill()
        child.join()


def _work(name: str, folder: str, library: Path | None, device: str, sender: Connection) -> None:
    if device == "cpu":  # CUDA reserves addresses for all of its memory at once
        physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        limit = physical + _SPARE_ADDRESS_SPACE
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    try:
        result = CHECKS[name](open_subject(folder, library, device))
    except MemoryError:
        result = failed(name, 0, "ran out of memory")
    except Exception as error:  # a check that cannot be carried out has not passed
        text = " ".join(str(error).split())[:300]
        result = failed(name, 0, f"{type(error).__name__}: {text}")
    sender.send_bytes(result.model_dump_json().encode())
    sender.close()
    sys.stdout.flush()
    os._exit(0)  # nothing of the parent is to be torn down here


def _describe_exit(status: int | None) -> str:
    if status is not None and status < 0:
        return f"was ended by {signal.Signals(-status).name}"
    return f"ended with status {status} before the check was done"


def main(folder: str, library: str, device: str, time_limit_s: str, target: str) -> None:
    """Append one JSON line for each check to the file `target`; `library` is "-" for none."""
    built = None if library == "-" else Path(library)
    with Path(target).open("a", encoding="utf-8") as file:
        for name in CHECKS:
            result = run_check(name, folder, built, device, float(time_limit_s))
            print(f"{name}: {'passed' if result.passed else 'FAILED'}, {result.detail}", flush=True)
            file.write(result.model_dump_json() + "\n")
            file.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
