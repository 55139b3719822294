"""On what, and with which versions, a run was made."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = (
    "torch",
    "numpy",
    "connected-components-3d",
    "edt",
    "opencv-python-headless",
    "scipy",
    "kornia",
    "monai",
)


def describe_machine() -> dict[str, str]:
    """Processor, cores, memory, system, and what of the environment changes the figures."""
    facts = {
        "processor": _field("/proc/cpuinfo", "model name"),
        "cores": str(len(os.sched_getaffinity(0))),
        "memory": _field("/proc/meminfo", "MemTotal"),
        "level 3 cache": _read("/sys/devices/system/cpu/cpu0/cache/index3/size"),
        "huge pages": _read("/sys/kernel/mm/transparent_hugepage/enabled"),
        "system": platform.platform(),
        "instruction sets": _instruction_sets(),
    }
    for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY", "BREAKEVEN_CPU_LEVEL"):
        if name in os.environ:
            facts[name] = os.environ[name]
    return {name: fact for name, fact in facts.items() if fact}


def describe_versions() -> dict[str, str]:
    """By distribution; "absent" where it is not installed."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "absent"
    return found


def _instruction_sets() -> str:
    flags = _field("/proc/cpuinfo", "flags").split()
    return ", ".join(flag for flag in ("avx2", "avx512f", "avx512bw", "avx512vl") if flag in flags)


def _field(path: str, name: str) -> str:
    for line in _read(path).splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return ""


def _read(path: str) -> str:
    try:
        return Path(path).read_text("utf-8").strip()
    except OSError:
        return ""
