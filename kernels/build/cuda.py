"""Compile an operator's CUDA sources; neither a GPU nor a torch with CUDA is needed for that."""

import os
import re
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import torch

from kernels.build.commands import Command
from kernels.build.content import content_key, headers_of, refuse_foreign_headers
from kernels.build.failure import BuildFailed
from kernels.build.store import settle_directory
from kernels.build.toolchain import INCLUDE, TARGET_VERSION
from kernels.build.workshop import Target, Workshop, make_once
from kernels.folder import OperatorFolder

ARCHITECTURES = (80, 90, 100)
"""Compute capabilities, times ten, of what is to run; later GPUs get the last one's PTX."""
CHECKED = ARCHITECTURES[:1]
"""Of what is compiled for its errors alone: the oldest, which has the least; each takes time."""
FLAGS = (
    "-std=c++20",
    "-O3",
    # As on a CPU: what is to be fused is written so.
    "--fmad=false",
    # Shared headers are for host and device; their constexpr functions need no marks then.
    "--expt-relaxed-constexpr",
    "-Xcompiler=-fPIC,-pthread,-Wall,-ffp-contract=off",
    "--threads=2",
    "-DUSE_CUDA",
    TARGET_VERSION,
)


@dataclass(frozen=True)
class CudaBuilt:
    """CUDA sources, compiled."""

    object: Path
    """All of them in one relocatable object, with code for each architecture in it."""
    key: str
    """SHA-256 of sources, headers, flags, compilers and torch, in hex."""
    seconds: float
    """Wall time of this call."""
    was_cached: bool
    compiler: str
    """The line of `nvcc --version` that names its release."""
    architectures: tuple[int, ...]
    num_warnings: int
    root: Path
    """The toolkit, for the linker."""


@dataclass(frozen=True)
class CudaNotBuilt:
    """Why there is no CUDA code."""

    reason: str
    errors: tuple[str, ...] = ()
    """What nvcc said, with file and line."""
    was_tried: bool = False
    """Whether it failed; otherwise there was nothing to compile, or nothing to compile it with."""


@dataclass(frozen=True)
class _Nvcc:
    path: str
    release: str
    architectures: tuple[int, ...]
    root: Path

    @property
    def flags(self) -> tuple[str, ...]:
        last = self.architectures[-1]
        real = (f"-gencode=arch=compute_{a},code=sm_{a}" for a in self.architectures)
        return (*FLAGS, *real, f"-gencode=arch=compute_{last},code=compute_{last}")


def compile_cuda(
    folder: OperatorFolder,
    directory: Path | None = None,
    time_limit_s: float = 300,
    architectures: tuple[int, ...] | None = None,
) -> CudaBuilt | CudaNotBuilt:
    """Compile all of `csrc/*.cu` into `<directory>/<operator>-<16 digits of the key>-cuda.o`.

    Cached, locked and reported as `build` does.

    Args:
        folder: the operator.
        directory: as for `build`.
        time_limit_s: for waiting and compiling together.
        architectures: those of them that nvcc knows are compiled for; by default `ARCHITECTURES`
            where torch has CUDA, and else `CHECKED`.
    """
    if architectures is None:
        architectures = ARCHITECTURES if torch.version.cuda else CHECKED
    started = time.perf_counter()
    if not folder.cuda_sources:
        return CudaNotBuilt(f"{folder.path.name} has no csrc/*.cu")
    try:
        nvcc = _find_nvcc(architectures)
        if nvcc is None:
            return CudaNotBuilt("nvcc was not found: not on PATH, in $CUDA_HOME or /usr/local/cuda")
        directory = settle_directory(directory)
        key = _key(folder, nvcc)
        name = f"{folder.path.name}-{key[:16]}-cuda.o"
        target = Target(
            f"{folder.path.name} for CUDA", directory / name, lambda: _key(folder, nvcc)
        )
        record, was_cached = make_once(
            target, time_limit_s, lambda workshop: _compile(workshop, folder, nvcc)
        )
    except BuildFailed as error:
        return CudaNotBuilt(str(error), error.errors, was_tried=True)
    return CudaBuilt(
        object=target.file,
        key=key,
        seconds=time.perf_counter() - started,
        was_cached=was_cached,
        compiler=nvcc.release,
        architectures=nvcc.architectures,
        num_warnings=record.num_warnings,
        root=nvcc.root,
    )


def why_not_linked(built: CudaBuilt) -> str | None:
    """Why this process's torch could not run the object; None when it can be linked for it."""
    of_torch = torch.version.cuda
    if of_torch is None:
        return f"this torch, {torch.__version__}, is without CUDA"
    found = re.search(r"release (\d+)", built.compiler)
    major = found.group(1) if found else "unknown"
    if major != of_torch.partition(".")[0]:
        return f"nvcc is of CUDA {major}, torch of {of_torch}: both must be of one major version"
    return None


def _compile(workshop: Workshop, folder: OperatorFolder, nvcc: _Nvcc) -> Path:
    objects = [workshop.scratch / f"{source.stem}.o" for source in folder.cuda_sources]
    rules = [made.with_suffix(".d") for made in objects]
    command: Command = (nvcc.path, *nvcc.flags, *INCLUDE, "-MMD", "-MF")
    workshop.run(
        [
            (*command, str(rule), "-c", str(source), "-o", str(made))
            for source, made, rule in zip(folder.cuda_sources, objects, rules, strict=True)
        ]
    )
    known = (*folder.cuda_sources, *headers_of(folder))
    refuse_foreign_headers(rules, known, folder.path, system=nvcc.root)
    merged = workshop.scratch / "all.o"
    workshop.run([("ld", "-r", *map(str, objects), "-o", str(merged))])
    return merged


def _key(folder: OperatorFolder, nvcc: _Nvcc) -> str:
    files = (*folder.cuda_sources, *headers_of(folder))
    return content_key(files, folder.path, (*nvcc.flags, nvcc.release, torch.__version__))


def _find_nvcc(wanted: tuple[int, ...]) -> _Nvcc | None:
    """nvcc of PATH, $CUDA_HOME or /usr/local/cuda; None where there is none.

    Raises:
        BuildFailed: it does not answer, or compiles for none of the architectures.
    """
    roots = (os.environ.get("CUDA_HOME"), "/usr/local/cuda")
    places = (None, *(f"{root}/bin" for root in roots if root))
    path = next((found for place in places if (found := shutil.which("nvcc", path=place))), None)
    if path is None:
        return None
    release = next((line for line in _ask(path, "--version") if "release" in line), "")
    offered = {int(line.rpartition("_")[2]) for line in _ask(path, "--list-gpu-arch") if line}
    architectures = tuple(a for a in wanted if a in offered)
    if not release or not architectures:
        raise BuildFailed(
            f"{path}: expected a release that compiles for one of {wanted}, "
            f"got {release or 'no release'} for {sorted(offered)}"
        )
    tops = (line.partition("TOP=")[2] for line in _ask(path, "--dryrun", "-c", "x.cu"))
    root = next((Path(top).resolve() for top in tops if top), Path(path).resolve().parents[1])
    return _Nvcc(path, release, architectures, root)


def _ask(*command: str) -> list[str]:
    answer = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return answer.stdout.splitlines()
