"""Which machine, which versions? Facts that change only when measurements must be made again.

No time, commit or free memory: every measuring stage depends on this result.
"""

import os
import platform
import re
import subprocess
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from stages.contract import EnvironmentResult, Settings, Stage, execute

_DISTRIBUTIONS = (
    "torch",
    "monai",
    "mlflow",
    "prefect",
    "dvc",
    "numpy",
    "scipy",
    "pandas",
    "pandera",
    "great-expectations",
    "nibabel",
    "pillow",
    "pydantic",
    "ninja",
    "connected-components-3d",
    "edt",
)
_INSTRUCTION_SETS = re.compile(r"avx|avx2|avx512\w*|avx_vnni|amx\w*|fma|f16c|asimd|neon|sve2?")
"""Those that kernels are compiled for."""
_GIB = 1024**3
_QUERY_LIMIT_S = 30


def environment(settings: Settings) -> EnvironmentResult:
    """Describe this machine; reads no parameter."""
    cpu_model, flags = _read_cpu()
    memory_bytes = _read_memory_bytes()
    num_cores = _count_cores()
    gpus = _read_gpus()
    versions = _read_versions()
    accelerators = ", ".join(gpus) or "no GPU"
    return EnvironmentResult(
        stage=Stage.environment,
        reason=(
            f"{num_cores} cores of {cpu_model}, {memory_bytes // _GIB} GiB, {accelerators}, "
            f"torch {versions.get('torch', 'not installed')}"
        ),
        cpu_model=cpu_model,
        num_cores=num_cores,
        instruction_sets=tuple(sorted(f for f in flags if _INSTRUCTION_SETS.fullmatch(f))),
        memory_bytes=memory_bytes,
        gpus=gpus,
        operating_system=_name_system(),
        python_version=platform.python_version(),
        compiler=next(iter(_run(["g++", "--version"])), None),
        versions=versions,
    )


def _read_cpu() -> tuple[str, frozenset[str]]:
    """Model and flags; x86 lists `flags`, ARM `Features`."""
    try:
        text = Path("/proc/cpuinfo").read_text("utf-8", errors="replace")
    except OSError:
        text = ""
    lines = (line.partition(":") for line in text.splitlines())
    facts: dict[str, str] = {}
    for key, _, value in lines:
        facts.setdefault(key.strip(), value.strip())
    model = facts.get("model name") or platform.processor() or platform.machine()
    flags = facts.get("flags") or facts.get("Features") or ""
    return model, frozenset(flags.split())


def _name_system() -> str:
    """Distribution and architecture; a new build of the kernel alone re-measures nothing."""
    try:
        name = platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        name = f"{platform.system()} {platform.release()}"
    return f"{name}, {platform.machine()}"


def _count_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _read_memory_bytes() -> int:
    """Memory that this process may use, in whole GiB: what the system keeps for itself varies."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text("utf-8").strip()
    except OSError:
        limit = "max"
    if limit.isdigit():
        total = min(total, int(limit))
    return max(1, round(total / _GIB)) * _GIB


def _read_gpus() -> tuple[str, ...]:
    """Name, memory and driver of each GPU; none where there is no driver."""
    query = "--query-gpu=name,memory.total,driver_version"
    return tuple(_run(["nvidia-smi", query, "--format=csv,noheader"]))


def _read_versions() -> dict[str, str]:
    versions = {}
    for name in _DISTRIBUTIONS:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


def _run(command: Sequence[str]) -> list[str]:
    """Lines that a command prints; none when it is missing or fails."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_QUERY_LIMIT_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return []
    return [line.strip() for line in done.stdout.splitlines() if line.strip()]


def main() -> None:
    execute(Stage.environment, environment)


if __name__ == "__main__":
    main()
