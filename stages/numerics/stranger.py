"""An operator that states a published contract and brings its own build."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import stages

BASES = ("ccl", "edt", "wdice")
BUILD_LIMIT_S = 900.0
BATTERY_LIMIT_S = 1800.0
"""Far beyond what it takes: a busy machine is no fault of the operator."""


class StrangerError(ValueError):
    """A folder that cannot be judged at all."""


@dataclass(frozen=True)
class Stranger:
    """A folder with `op.py`, and what it says it is."""

    folder: Path
    base: str
    namespace: str


def open_stranger(folder: Path) -> Stranger:
    """Read `base` and `namespace` of a folder's `meta.json`.

    Raises:
        StrangerError: the file or an entry is missing, or the base is not one of the contracts.
    """
    file = folder / "meta.json"
    try:
        meta = json.loads(file.read_text("utf-8"))
        base, namespace = str(meta["base"]), str(meta["namespace"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StrangerError(
            f"{file}: expected a JSON object with base and namespace: {error!r}"
        ) from error
    if base not in BASES:
        raise StrangerError(f"{file}: base must be one of {', '.join(BASES)}, got {base}")
    return Stranger(folder.resolve(), base, namespace)


def judge_stranger(operator: Stranger, seed: int = 0) -> dict[str, Any]:
    """Build, then the battery; verdict and findings, however the processes end."""
    with tempfile.TemporaryDirectory(prefix="breakeven-judge-") as scratch:
        built = Path(scratch) / "build"
        ending = _run(operator, built, "build", "-", seed, BUILD_LIMIT_S)
        if ending is not None:
            return {"verdict": "build-failed", "findings": [_finding("build", ending)]}
        target = Path(scratch) / "answers.jsonl"
        target.touch()
        ending = _run(operator, built, "examine", str(target), seed, BATTERY_LIMIT_S)
        answers = [json.loads(line) for line in target.read_text("utf-8").splitlines()]
    findings = [
        _finding(answer["check"], answer["fault"], answer["counter_example"])
        for answer in answers
        if answer["fault"] is not None
    ]
    if ending is not None:
        findings.append(_finding("battery", ending))
    return {"verdict": "fail" if findings else "pass", "findings": findings}


def _finding(check: str, reason: str, example: str | None = None) -> dict[str, Any]:
    finding = {"check": check, "reason": reason}
    return finding if example is None else {**finding, "example": example}


def _run(
    operator: Stranger, built: Path, task: str, target: str, seed: int, limit_s: float
) -> str | None:
    """One task in a process group of its own; how it went wrong, None if it did not."""
    command = [sys.executable, "-m", "stages.numerics.stranger_process", task]
    command += [str(operator.folder), operator.base, operator.namespace, str(built), target]
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [*command, str(seed)],
            stdout=output,
            stderr=subprocess.STDOUT,
            env=_environment(),
            start_new_session=True,
        )
        try:
            status = process.wait(limit_s)
            ending = None if status == 0 else _describe(task, status)
        except subprocess.TimeoutExpired:
            ending = f"the {task} took longer than {limit_s:g} s and was ended"
        finally:
            _end_group(process)
        output.seek(0)
        said = output.read().decode("utf-8", "replace")
    return ending if ending is None else f"{ending}: {_telling(said)}".rstrip(": ")


def _describe(task: str, status: int) -> str:
    if status < 0:
        return f"the {task} died of {signal.Signals(-status).name}"
    return f"the {task} ended with status {status}"


def _telling(output: str) -> str:
    """The first compiler error, else the last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if " error: " in line]
    return (errors or lines[-1:] or [""])[0][:300]


def _end_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _environment() -> dict[str, str]:
    """This process's, with the place of this very package first on the path."""
    root = str(Path(stages.__path__[0]).parent)
    path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    interpreter = str(Path(sys.executable).parent)  # ninja lies beside it
    return {
        **os.environ,
        "PYTHONPATH": path,
        "PATH": os.pathsep.join((interpreter, os.environ.get("PATH", ""))),
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
    }
