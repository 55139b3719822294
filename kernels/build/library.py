"""Compile an operator's sources into one shared library, once per content.

The library is built against the stable ABI of LibTorch: no ATen or c10 symbol in it, a build of a
few seconds, and a binary that loads in every torch from 2.10 on. No `-march=native`: the binary has
to run on other machines of the same architecture.
"""

import struct
import time
from dataclasses import dataclass
from pathlib import Path

import torch

from kernels.build.content import content_key, headers_of, refuse_foreign_headers
from kernels.build.cuda import CudaBuilt, CudaNotBuilt, compile_cuda, why_not_linked
from kernels.build.failure import BuildFailed
from kernels.build.store import settle_directory
from kernels.build.toolchain import INCLUDE, TORCH, Toolchain, find_toolchain
from kernels.build.workshop import Target, Workshop, make_once
from kernels.folder import OperatorFolder


@dataclass(frozen=True)
class Built:
    """A library that is ready to be loaded."""

    library: Path
    key: str
    """SHA-256 of sources, headers, flags, compiler, torch version and architecture, in hex."""
    seconds: float
    """Wall time of this call."""
    compile_s: float
    """Wall time of compiling and linking it, when that was done."""
    was_cached: bool
    compiler: str
    """First line of the compiler's `--version`."""
    num_warnings: int
    cuda: CudaBuilt | CudaNotBuilt
    """Linked into the library, or why not."""


def build(
    folder: OperatorFolder,
    directory: Path | None = None,
    time_limit_s: float = 300,
    *,
    sanitize: bool = False,
) -> Built:
    """Compile `csrc/*.cpp` into `<directory>/<operator>-<first 16 digits of the key>.so`.

    Where torch has CUDA and nvcc is there, `csrc/*.cu` too; a failure of theirs is told in the
    result and leaves a library for the CPU. One process builds a content, others wait for it.

    Args:
        folder: the operator.
        directory: for built files; without it `$BREAKEVEN_BUILD_DIR`, else `breakeven/operators`
            in the cache, else a folder of this user's among the temporary files.
        time_limit_s: for waiting and compiling together, for CPU and CUDA each.
        sanitize: a library that ends the process at the first fault of memory or arithmetic;
            it needs a process that was started with `kernels.sanitized`.

    Raises:
        BuildFailed: no compiler, no sources, an error in them, or the time limit passed.
    """
    started = time.perf_counter()
    if not folder.sources:
        raise BuildFailed(f"{folder.path / 'csrc'}: expected at least one .cpp file, found none")
    tools = find_toolchain(sanitize)
    directory = settle_directory(directory)
    cuda = _cuda_part(folder, directory, time_limit_s, sanitize)
    key = _key(folder, tools, cuda)
    title = folder.path.name
    name = f"{title}-{key[:16]}{'-sanitized' if sanitize else ''}.so"
    target = Target(title, directory / name, lambda: _key(folder, tools, cuda))
    record, was_cached = make_once(
        target, time_limit_s, lambda workshop: _compile(workshop, folder, tools, cuda)
    )
    return Built(
        library=target.file,
        key=key,
        seconds=time.perf_counter() - started,
        compile_s=record.compile_s,
        was_cached=was_cached,
        compiler=tools.version,
        num_warnings=record.num_warnings,
        cuda=cuda,
    )


def _cuda_part(
    folder: OperatorFolder, directory: Path, time_limit_s: float, sanitize: bool
) -> CudaBuilt | CudaNotBuilt:
    """The CUDA object to be linked; it is not even compiled where it could not be."""
    if sanitize:
        return CudaNotBuilt("sanitizers watch the CPU alone")
    if torch.version.cuda is None:
        return CudaNotBuilt(f"this torch, {torch.__version__}, is without CUDA")
    built = compile_cuda(folder, directory, time_limit_s)
    reason = why_not_linked(built) if isinstance(built, CudaBuilt) else None
    return CudaNotBuilt(reason, was_tried=True) if reason is not None else built


def _compile(
    workshop: Workshop, folder: OperatorFolder, tools: Toolchain, cuda: CudaBuilt | CudaNotBuilt
) -> Path:
    """Each source to an object, side by side; then link, and look whether it came out whole."""
    objects = [workshop.scratch / f"{source.stem}.o" for source in folder.sources]
    rules = [made.with_suffix(".d") for made in objects]
    command = (tools.compiler, *tools.compile_flags, *INCLUDE, "-MMD", "-MF")
    workshop.run(
        [
            (*command, str(rule), "-c", str(source), "-o", str(made))
            for source, made, rule in zip(folder.sources, objects, rules, strict=True)
        ]
    )
    refuse_foreign_headers(rules, (*folder.sources, *headers_of(folder)), folder.path)
    made = workshop.scratch / "all.so"
    libraries = (f"-L{TORCH / 'lib'}", *tools.libraries)
    if isinstance(cuda, CudaBuilt):
        objects.append(cuda.object)
        libraries = (
            f"-L{cuda.root / 'lib64'}",
            *libraries,
            "-ltorch_cuda",
            "-lc10_cuda",
            "-lcudart",
        )
    link = (tools.compiler, *tools.link_flags, *map(str, objects), "-o", str(made), *libraries)
    workshop.run([link])
    if not _is_whole_library(made):
        raise BuildFailed(f"{folder.path.name}: the linker left half a library; is the disk full?")
    return made


def _key(folder: OperatorFolder, tools: Toolchain, cuda: CudaBuilt | CudaNotBuilt) -> str:
    facts = (*tools.content, cuda.key if isinstance(cuda, CudaBuilt) else "without CUDA")
    return content_key((*folder.sources, *headers_of(folder)), folder.path, facts)


def _is_whole_library(file: Path) -> bool:
    """Whether an ELF file of 64 bits reaches as far as its header says."""
    with file.open("rb") as opened:
        header = opened.read(64)
    if len(header) < 64 or not header.startswith(b"\x7fELF\x02\x01"):
        return False
    (offset,) = struct.unpack_from("<Q", header, 40)
    size, number = struct.unpack_from("<HH", header, 58)
    return bool(offset + size * number <= file.stat().st_size)
