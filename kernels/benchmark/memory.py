"""Peak memory beyond input and result: the resident set's high-water mark in a fresh process.

A child of a server that has imported torch and run nothing calls once on a smaller input (so that
code and threads are there), makes the input, has freed memory given back, resets the mark (man 5
proc, clear_refs), and calls once.
"""

import ctypes
import multiprocessing
import re
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch

from kernels.benchmark.plan import Plan
from kernels.benchmark.scene import REUSING, Entrant, Inputs, Scene
from kernels.benchmark.threads import use_threads

TIME_LIMIT_S = 60.0
_SMALLER = 4
"""Fraction of the sides for the first call."""
_RESET_PEAK = "5"
_PROCESS = Path("/proc/self")
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
"""malloc.h."""
_MMAP_THRESHOLD_BYTES = 64 * 2**10


def extra_bytes_per_voxel(scene: Scene, entrant: Entrant, plan: Plan) -> float | None:
    """Measure in a child; None where it gives no answer."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torch", "numpy", "kernels.benchmark.suites"])
    receiver, sender = context.Pipe(duplex=False)
    request = (scene.operator, scene.name, entrant.key, plan)
    child = context.Process(target=_answer, args=(request, sender), daemon=True)
    child.start()
    sender.close()
    try:
        if not receiver.poll(TIME_LIMIT_S):
            return None
        extra_bytes: float = receiver.recv()
        return extra_bytes / scene.num_voxels
    except EOFError:  # it failed or was killed; its own message is on stderr
        return None
    finally:
        child.kill()
        child.join()


def _answer(request: tuple[str, str, str, Plan], sender: Connection) -> None:
    from kernels.benchmark.suites import find_suite

    operator, scene_name, entrant_key, plan = request
    suite = find_suite(operator)
    scene = next(scene for scene in suite.scenes(plan) if scene.name == scene_name)
    entrants = suite.entrants(scene, plan)
    entrant = next(entrant for entrant in entrants if entrant.key == entrant_key)
    sender.send(_measure(entrant, scene))


def _measure(entrant: Entrant, scene: Scene) -> int:
    use_threads(1)
    _keep_nothing_freed()
    smaller = scene.shape[:-3] + tuple(max(size // _SMALLER, 1) for size in scene.shape[-3:])
    entrant.prepare(scene.make(smaller))()
    inputs: Inputs = scene.make(scene.shape)
    call = entrant.prepare(inputs)
    _c_library().malloc_trim(0)
    (_PROCESS / "clear_refs").write_text(_RESET_PEAK)
    before = _resident_bytes("VmRSS")
    result = call()
    peak = _resident_bytes("VmHWM") - before
    return max(peak - (0 if entrant.output == REUSING else _num_bytes(result)), 0)


def _keep_nothing_freed() -> None:
    """Have glibc return freed blocks: a later allocation out of them would not show."""
    _c_library().mallopt(_M_MMAP_THRESHOLD, _MMAP_THRESHOLD_BYTES)
    _c_library().mallopt(_M_TRIM_THRESHOLD, 0)


def _c_library() -> ctypes.CDLL:
    return ctypes.CDLL(None)


def _num_bytes(result: Any) -> int:
    """Bytes of all arrays and tensors of a result."""
    if isinstance(result, tuple | list):
        return sum(map(_num_bytes, result))
    if isinstance(result, torch.Tensor):
        return result.numel() * result.element_size()
    return int(getattr(result, "nbytes", 0))


def _resident_bytes(field: str) -> int:
    found = re.search(rf"^{field}:\s+(\d+) kB$", (_PROCESS / "status").read_text(), re.MULTILINE)
    if found is None:
        raise OSError(f"{_PROCESS / 'status'} has no {field}")
    return int(found[1]) * 1024
