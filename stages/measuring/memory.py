"""Peak memory of a piece of work: the resident set on the CPU, the allocator's maximum on CUDA."""

import multiprocessing
import re
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import torch

from stages.contract import Figure, known, unknown

_STATUS = Path("/proc/self/status")
_RESET_PEAK = "5"
"""Written to clear_refs, resets VmHWM to the present resident set (man 5 proc)."""


def peak_resident_bytes(work: Callable[[], object]) -> Figure:
    """Peak resident set of this process during the work, above what was resident before."""
    try:
        Path("/proc/self/clear_refs").write_text(_RESET_PEAK)
        before = _status_bytes("VmRSS")
        work()
        return known(float(max(_status_bytes("VmHWM") - before, 0)))
    except OSError as error:
        return unknown(f"/proc does not let the peak be reset here ({error})")


def peak_memory_bytes(work: Callable[[], object], device: str) -> Figure:
    """Peak memory of the work on its device, above what was in use before."""
    if not device.startswith("cuda"):
        return peak_resident_bytes(work)
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    work()
    torch.cuda.synchronize()
    return known(float(torch.cuda.max_memory_allocated() - before))


def peak_in_child(
    make_work: Callable[[], Callable[[], object]], device: str, time_limit_s: float
) -> Figure:
    """Peak memory of a work that a fresh process makes and then does: no leftovers of this one
    count.

    `make_work` must be importable by name (the child is spawned, not forked).
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_measure_in_child, args=(make_work, device, sender), daemon=True)
    child.start()
    sender.close()
    try:
        if not receiver.poll(time_limit_s):
            return unknown(f"the child that measures memory took longer than {time_limit_s:g} s")
        peak: Figure = receiver.recv()
        return peak
    except EOFError:
        child.join()
        return unknown(f"the child that measures memory died with status {child.exitcode}")
    finally:
        if child.is_alive():
            child.kill()
        child.join()


def _measure_in_child(
    make_work: Callable[[], Callable[[], object]], device: str, sender: Connection
) -> None:
    sender.send(peak_memory_bytes(make_work(), device))


def _status_bytes(field: str) -> int:
    found = re.search(rf"^{field}:\s+(\d+) kB$", _STATUS.read_text(), re.MULTILINE)
    if found is None:
        raise OSError(f"{_STATUS} has no {field}")
    return int(found[1]) * 1024
