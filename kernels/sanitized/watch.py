"""Build an operator with sanitizers and make all of its calls in a process that they watch.

The sanitizers' runtime has to be in a process from its start, which Python's is not: a child is
started with it preloaded. What ends the child is the finding.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kernels
from kernels.build import BuildFailed, build
from kernels.build.toolchain import NATIVE
from kernels.folder import OperatorFolder
from kernels.sanitized.report import Finding, read_report

THREAD_COUNTS = (1, 2)
# Python and torch leave memory to the end of the process; it is not the operator's.
_ADDRESS_OPTIONS = "detect_leaks=0:allocator_may_return_null=1:handle_abort=1:quarantine_size_mb=16"
_ARITHMETIC_OPTIONS = "print_stacktrace=1"


@dataclass(frozen=True)
class Watched:
    """What came of watching an operator."""

    finding: Finding | None
    """The first fault; None when there was none."""
    num_cases: int
    num_calls: int
    levels: tuple[str, ...]
    """Instruction sets that were asked for; one empty name where the operator has no choice."""
    seconds: float
    """Wall time of the calls, without the build."""


def watch(
    operator: OperatorFolder,
    directory: Path | None = None,
    time_limit_s: float = 300,
    thread_counts: Sequence[int] = THREAD_COUNTS,
) -> Watched:
    """Call an operator on all of its cases under the sanitizers, until the first fault.

    Every case as it is, in other layouts and dtypes, into `out`, and with its gradient; on every
    instruction set that the machine has; with each number of threads. Results are compared with
    the reference in the case's own dtype.

    Args:
        operator: with C++ sources.
        directory: for built files, as for `kernels.build.build`.
        time_limit_s: for building and for the calls, each; calls past it are a finding.
        thread_counts: numbers of threads.

    Raises:
        BuildFailed: it does not build, or g++ has no sanitizers here.
    """
    built = build(operator, directory, time_limit_s, sanitize=True)
    runtime = find_runtime()
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="breakeven-sanitized-") as scratch:
        journal, output = Path(scratch) / "journal", Path(scratch) / "output"
        status = _run_child(
            [
                str(operator.path),
                str(built.library),
                str(journal),
                ",".join(map(str, thread_counts)),
            ],
            runtime,
            output,
            time_limit_s,
        )
        report = output.read_text("utf-8", "replace")
        lines = journal.read_text("utf-8").splitlines() if journal.exists() else []
    seconds = time.perf_counter() - started
    facts = [json.loads(line) for line in lines]
    last: dict[str, Any] = facts[-1] if facts else {}
    calls = [fact["call"] for fact in facts if "call" in fact]
    if "num_calls" in last and status == 0:
        return Watched(None, last["num_cases"], last["num_calls"], tuple(last["levels"]), seconds)
    what, where = _explain(last, status, report, operator, time_limit_s)
    finding = Finding(what, where, calls[-1] if calls else None, report)
    return Watched(finding, 0, len(calls), (), seconds)


def find_runtime() -> tuple[str, ...]:
    """The shared libraries of the sanitizers, to be preloaded.

    Raises:
        BuildFailed: g++ comes without them.
    """
    paths = []
    for name in ("libasan.so", "libubsan.so"):
        command = [os.environ.get("CXX") or "g++", f"-print-file-name={name}"]
        path = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        if not Path(path).is_absolute():  # g++ repeats the name of what it does not find
            raise BuildFailed(
                f"expected {name} beside g++, found none; install g++ whole "
                "(Debian, Ubuntu: apt-get install g++)"
            )
        paths.append(str(Path(path).resolve()))
    return tuple(paths)


def _run_child(
    arguments: list[str], runtime: tuple[str, ...], output: Path, time_limit_s: float
) -> int | None:
    """The child's exit status; None when the time was up."""
    root = str(Path(kernels.__file__).parents[1])
    environment = {
        **os.environ,
        "LD_PRELOAD": ":".join(runtime),
        "ASAN_OPTIONS": _ADDRESS_OPTIONS,
        "UBSAN_OPTIONS": _ARITHMETIC_OPTIONS,
        "PYTHONPATH": os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH")))),
    }
    with output.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "kernels.sanitized.child", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            env=environment,
        )
        try:
            return process.wait(time_limit_s)
        except subprocess.TimeoutExpired:
            return None
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()


def _explain(
    last: dict[str, Any],
    status: int | None,
    report: str,
    operator: OperatorFolder,
    time_limit_s: float,
) -> tuple[str, str | None]:
    found = read_report(report, (operator.path / "csrc", NATIVE))
    if found is not None:
        return found
    if status is None:
        return f"the calls took longer than {time_limit_s:g} s and were ended", None
    if "kind" in last:
        return f"{last['kind']}: {last['detail']}", None
    if status < 0:
        return f"the process was ended by {signal.Signals(-status).name}", None
    ending = " ".join(report.split())[-300:]
    return f"the process ended with status {status}: {ending}", None
