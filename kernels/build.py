"""Compile an operator's C++ sources into one shared library, once per content.

The library is built against the stable ABI of LibTorch: no ATen or c10 symbol in it, a build of a
few seconds, and a binary that loads in every torch from 2.10 on. No `-march=native`: the binary has
to run on other machines of the same architecture.
"""

import hashlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import torch

from kernels.folder import OperatorFolder

FLAGS = (
    "-std=c++20",
    "-O3",
    "-fPIC",
    "-pthread",
    "-Wall",
    # The same rounding on every instruction set: a fused multiply-add is written where it is meant.
    "-ffp-contract=off",
    "-DTORCH_TARGET_VERSION=0x020a000000000000",
)
NATIVE = Path(__file__).parent / "native"
"""Headers that operators share, such as the choice of an instruction set."""
LINK_FLAGS = ("-shared", "-pthread")
# Libraries follow the objects: the linker resolves from left to right.
LIBRARIES = ("-Wl,--no-as-needed", "-ltorch_cpu", "-ltorch")
NUM_QUOTED_ERRORS = 3

_ERROR_LINE = re.compile(r"^\S.*?:\d+:(?:\d+:)? (?:fatal )?error: ")
_TORCH_NAME = re.compile(r"(?<![\w:])(?:at|c10)::")


@dataclass(frozen=True)
class Built:
    """A library that is ready to be loaded."""

    library: Path
    key: str
    """SHA-256 of sources, headers, flags, compiler and torch version, in hex."""
    seconds: float
    """Wall time of this call."""
    was_cached: bool
    compiler: str
    """First line of the compiler's `--version`."""


class BuildFailed(RuntimeError):  # noqa: N818 - it reads as what happened
    """No library came out; the message quotes the first compiler errors with file and line."""


def build(
    folder: OperatorFolder, directory: Path | None = None, time_limit_s: float = 300
) -> Built:
    """Compile all of `csrc/*.cpp` into `<directory>/<operator>-<first 16 digits of the key>.so`.

    Without `directory`: `$BREAKEVEN_BUILD_DIR`, else `breakeven/operators` in the cache, else
    a folder of this user's among the temporary files. There is no lock: each call compiles under a
    name of its own and then moves the result into place, so that a killed build holds up nobody.

    Raises:
        BuildFailed: no compiler, no sources, an error in them, or the time limit passed.
    """
    started = time.perf_counter()
    if not folder.sources:
        raise BuildFailed(f"{folder.path / 'csrc'}: expected at least one .cpp file, found none")
    compiler = _find_compiler()
    version = _compiler_version(compiler)
    key = _content_key(folder, version)
    name = f"{folder.path.name}-{key[:16]}.so"
    directory = _writable(directory) if directory is not None else _default_directory()
    library = directory / name
    was_cached = library.is_file()
    if not was_cached:
        unfinished = directory / f".{name}.{uuid.uuid4().hex}"
        try:
            _compile(compiler, folder, unfinished, time_limit_s)
            unfinished.replace(library)
        finally:
            unfinished.unlink(missing_ok=True)
    return Built(library, key, time.perf_counter() - started, was_cached, version)


def undefined_torch_symbols(library: Path) -> tuple[str, ...]:
    """Undefined `at::` and `c10::` symbols, demangled and sorted; none in a stable-ABI library.

    Defined ones do no harm: header-only code leaves weak `c10::` symbols.

    Raises:
        RuntimeError: `nm` is absent or cannot read the file.
    """
    nm = shutil.which("nm")
    if nm is None:
        raise RuntimeError("expected nm on PATH; install binutils")
    command = [nm, "-DC", "--undefined-only", str(library)]
    listing = subprocess.run(command, capture_output=True, text=True, check=False)
    if listing.returncode != 0:
        raise RuntimeError(f"{library}: nm could not read it: {listing.stderr.strip()}")
    symbols = (line.strip().removeprefix("U ") for line in listing.stdout.splitlines())
    return tuple(sorted(symbol for symbol in symbols if _TORCH_NAME.search(symbol)))


def _find_compiler() -> str:
    wanted = os.environ.get("CXX", "g++")
    found = shutil.which(wanted)
    if found is None:
        raise BuildFailed(
            f"expected the C++ compiler {wanted} on PATH, found none; install g++ 11 or later "
            "(Debian, Ubuntu: apt-get install g++), or name another one in $CXX"
        )
    return found


def _compiler_version(compiler: str) -> str:
    command = [compiler, "--version"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode != 0 or not answer.stdout.strip():
        raise BuildFailed(f"{compiler} --version failed: {answer.stderr.strip()}")
    return answer.stdout.splitlines()[0]


def _content_key(folder: OperatorFolder, compiler_version: str) -> str:
    digest = hashlib.sha256()
    for part in (*FLAGS, *LINK_FLAGS, *LIBRARIES, compiler_version, torch.__version__):
        digest.update(part.encode() + b"\0")
    for file in (*folder.sources, *folder.headers, *sorted(NATIVE.glob("*.h"))):
        content = file.read_bytes()
        digest.update(f"{file.name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def _default_directory() -> Path:
    chosen = os.environ.get("BREAKEVEN_BUILD_DIR")
    if chosen:
        return _writable(Path(chosen))
    try:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        return _writable(cache / "breakeven" / "operators")
    except (BuildFailed, RuntimeError):  # RuntimeError: the user has no home
        return _writable(Path(tempfile.gettempdir()) / f"breakeven-operators-{os.getuid()}")


def _writable(directory: Path) -> Path:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BuildFailed(
            f"{directory}: cannot be created for built operators: {error.strerror}"
        ) from error
    if not os.access(directory, os.W_OK):
        raise BuildFailed(
            f"{directory}: not writable; name another folder for built operators "
            "in $BREAKEVEN_BUILD_DIR"
        )
    return directory.resolve()


def _compile(compiler: str, folder: OperatorFolder, target: Path, time_limit_s: float) -> None:
    """Compile each source to an object, as many at once as there are cores, then link them."""
    deadline = time.monotonic() + time_limit_s
    torch_root = Path(torch.__file__).parent
    include = (f"-I{torch_root / 'include'}", f"-I{NATIVE}")
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f"{target.name}.") as scratch:
        objects = [Path(scratch) / f"{source.stem}.o" for source in folder.sources]
        commands = [
            (compiler, *FLAGS, *include, "-c", str(source), "-o", str(made))
            for source, made in zip(folder.sources, objects, strict=True)
        ]
        link = (compiler, *LINK_FLAGS, *map(str, objects), "-o", str(target))
        libraries = (f"-L{torch_root / 'lib'}", *LIBRARIES)
        for step in (commands, [(*link, *libraries)]):
            messages = _run_together(step, deadline)
            if messages is None:
                raise BuildFailed(
                    f"{folder.path.name}: the build took longer than {time_limit_s:g} s "
                    "and was stopped"
                )
            if messages:
                raise BuildFailed(f"{folder.path.name}: {_first_errors(messages)}")


def _run_together(commands: Sequence[tuple[str, ...]], deadline: float) -> str | None:
    """Run commands, as many at once as this process may use cores, and all to their end.

    Returns what the failed ones said; "" when none failed, None when the deadline stopped them.
    """
    running: set[subprocess.Popen[str]] = set()
    is_stopped = threading.Event()

    def run(command: tuple[str, ...]) -> str:
        if is_stopped.is_set():
            return ""
        process = subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env={**os.environ, "LC_ALL": "C"},
            start_new_session=True,
        )
        running.add(process)
        try:
            _, messages = process.communicate(timeout=max(deadline - time.monotonic(), 0))
        except subprocess.TimeoutExpired:
            _kill_group(process)
            process.communicate()
            raise
        finally:
            running.discard(process)
        return (messages or "it said nothing") if process.returncode else ""

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        answers = [pool.submit(run, command) for command in commands]
        try:
            return "".join(answer.result() for answer in answers)
        except subprocess.TimeoutExpired:
            return None
        finally:
            is_stopped.set()
            for process in tuple(running):
                _kill_group(process)


def _kill_group(process: subprocess.Popen[str]) -> None:
    """The driver's children hold the pipe: the whole group has to go."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _first_errors(messages: str) -> str:
    lines = messages.strip().splitlines()
    errors = [line for line in lines if _ERROR_LINE.match(line)]
    if errors:
        quoted = errors[:NUM_QUOTED_ERRORS]
        return f"{len(errors)} compiler error(s), first:\n" + "\n".join(quoted)
    return "the build failed:\n" + "\n".join(lines[-NUM_QUOTED_ERRORS:])
