"""Build and run the programs of host_runs/, which execute GPU passes on the CPU."""

import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

ROOT = Path(__file__).parents[2]
SOURCES = Path(__file__).parent / "host_runs"
NATIVE = ROOT / "kernels" / "native"
FLAGS = ("-std=c++20", "-O1", "-Wall", "-Werror", "-pthread")
FIBERS = 0
"""In place of a number of threads: indices take turns at atomic operations, as the seed says."""


@dataclass(frozen=True)
class HostProgram:
    """A program that reads cases and writes results, both as raw numbers."""

    executable: Path

    def run(self, cases: Iterable[bytes]) -> "Results":
        """Run cases one after the other.

        Raises:
            AssertionError: it failed, or ThreadSanitizer saw a race; with what it said.
        """
        command = [*_fixed_addresses(), str(self.executable)]
        answer = subprocess.run(command, input=b"".join(cases), capture_output=True, check=False)
        assert answer.returncode == 0, answer.stderr.decode(errors="replace")[:4000]
        return Results(answer.stdout)


class Results:
    """What a program wrote, taken from the front."""

    def __init__(self, content: bytes) -> None:
        self._rest = content

    def take(self, dtype: str, *shape: int) -> NDArray[np.generic]:
        """The next array."""
        count = int(np.prod(shape, dtype=np.int64))
        size = count * np.dtype(dtype).itemsize
        assert len(self._rest) >= size, "the program wrote less than expected"
        array = np.frombuffer(self._rest[:size], dtype).reshape(shape)
        self._rest = self._rest[size:]
        return array

    def assert_empty(self) -> None:
        """Nothing is left over."""
        assert self._rest == b""


def case_bytes(header: Iterable[int], *arrays: NDArray[np.generic]) -> bytes:
    """A case: int64 numbers, then arrays in raster order."""
    return np.array(list(header), np.int64).tobytes() + b"".join(a.tobytes() for a in arrays)


def build_program(
    name: str,
    operator: str,
    directory: Path,
    *,
    watches_threads: bool = False,
    native: Path = NATIVE,
) -> HostProgram:
    """Compile `host_runs/<name>.cpp` with an operator's headers; skip the test without a compiler.

    With `watches_threads`, under ThreadSanitizer.
    """
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("g++ is not on PATH")
    executable = directory / (f"{name}-watched" if watches_threads else name)
    # ThreadSanitizer does not follow fibers, and threads need no turns: they run at once.
    mode = ("-fsanitize=thread", "-g") if watches_threads else ("-DBREAKEVEN_INTERLEAVE",)
    include = (native, ROOT / "kernels" / operator / "csrc")
    command = [
        compiler,
        *FLAGS,
        *mode,
        *(f"-I{path}" for path in include),
        str(SOURCES / f"{name}.cpp"),
        "-o",
        str(executable),
    ]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if watches_threads and "cannot find" in answer.stderr and "tsan" in answer.stderr:
        pytest.skip("g++ has no ThreadSanitizer library here")
    assert answer.returncode == 0, answer.stderr
    program = HostProgram(executable)
    if watches_threads:
        _skip_unless_it_starts(program)
    return program


def _fixed_addresses() -> tuple[str, ...]:
    """ThreadSanitizer fails on kernels that place memory at random in more than 28 bits."""
    setarch = shutil.which("setarch")
    if setarch is None:
        return ()
    works = subprocess.run([setarch, "-R", "true"], capture_output=True, check=False)
    return (setarch, "-R") if works.returncode == 0 else ()


def _skip_unless_it_starts(program: HostProgram) -> None:
    command = [*_fixed_addresses(), str(program.executable)]
    answer = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if answer.returncode != 0:
        pytest.skip(f"ThreadSanitizer does not run here: {answer.stderr.strip()[:200]}")
