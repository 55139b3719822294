"""Which compiler, with which flags."""

import os
import platform
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import torch

from kernels.build.failure import BuildFailed

NATIVE = Path(__file__).parents[1] / "native"
"""Headers that operators share, such as the choice of an instruction set."""
TORCH = Path(torch.__file__).parent
TARGET_VERSION = "-DTORCH_TARGET_VERSION=0x020a000000000000"
"""The stable ABI of torch 2.10: what this compiles to loads in every later one."""
COMPILE_FLAGS = (
    "-std=c++20",
    "-fPIC",
    "-pthread",
    "-Wall",
    # The same rounding on every instruction set: a fused multiply-add is written where it is meant.
    "-ffp-contract=off",
    TARGET_VERSION,
)
OPTIMISED = ("-O3",)
SANITIZERS = ("-fsanitize=address,undefined,float-cast-overflow",)
# Lines of the source in a report, its frames whole, the first fault the last; and vectors that look
# at their indices.
WATCHED = (
    "-O1",
    "-g1",
    "-fno-omit-frame-pointer",
    "-fno-sanitize-recover=all",
    "-D_GLIBCXX_ASSERTIONS",
)
# A symbol that nobody defines is an error here rather than at the first load.
LINK_FLAGS = ("-shared", "-pthread", "-Wl,-z,defs")
# c10 is linked where it is needed, so that the audit tells of it rather than the linker.
LIBRARIES = ("-Wl,--no-as-needed", "-ltorch_cpu", "-ltorch", "-Wl,--as-needed", "-lc10")
# The headers of torch are the system's: a warning in them is not one of the operator's.
INCLUDE = (f"-I{NATIVE}", "-isystem", str(TORCH / "include"))


@dataclass(frozen=True)
class Toolchain:
    """How C++ sources become a library."""

    compiler: str
    version: str
    """First line of the compiler's `--version`."""
    compile_flags: tuple[str, ...]
    link_flags: tuple[str, ...]
    libraries: tuple[str, ...]
    """These follow the objects: the linker resolves from left to right."""

    @property
    def content(self) -> tuple[str, ...]:
        """What else than the sources decides what comes out; no path of this machine."""
        flags = (*self.compile_flags, *self.link_flags, *self.libraries)
        machine = (platform.machine(), _cpu_model()) if "native" in " ".join(flags) else ()
        return (*flags, self.version, torch.__version__, platform.machine(), *machine)


def find_toolchain(sanitize: bool) -> Toolchain:
    """$CXX or g++, with the flags of a release or of a build that watches memory and arithmetic.

    `$BREAKEVEN_CXXFLAGS` adds flags, such as `-march=native`; the library is then this machine's.

    Raises:
        BuildFailed: there is no such compiler, or it cannot watch.
    """
    compiler = _find_compiler()
    version = version_of(compiler)
    if sanitize and "clang" in version:
        raise BuildFailed(f"expected g++ for a build with sanitizers, got {version}; unset CXX")
    return Toolchain(
        compiler=compiler,
        version=version,
        compile_flags=(
            *COMPILE_FLAGS,
            *((*SANITIZERS, *WATCHED) if sanitize else OPTIMISED),
            *shlex.split(os.environ.get("BREAKEVEN_CXXFLAGS", "")),
        ),
        link_flags=(*LINK_FLAGS, *(SANITIZERS if sanitize else ())),
        libraries=LIBRARIES,
    )


def version_of(compiler: str) -> str:
    """The first line of `--version`.

    Raises:
        BuildFailed: it does not answer.
    """
    command = [compiler, "--version"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode != 0 or not answer.stdout.strip():
        raise BuildFailed(f"{compiler} --version failed: {answer.stderr.strip()}")
    return answer.stdout.splitlines()[0]


def _find_compiler() -> str:
    wanted = os.environ.get("CXX") or "g++"
    found = shutil.which(wanted)
    if found is None:
        raise BuildFailed(
            f"expected the C++ compiler {wanted} on PATH, found none; install g++ 11 or later "
            "(Debian, Ubuntu: apt-get install g++), or name another one in $CXX"
        )
    return found


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        return platform.processor()
    return next((line for line in lines if line.startswith("model name")), platform.processor())
