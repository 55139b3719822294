"""Run the battery in a process of its own, and gather what it found, however it ended."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import stages
from stages.contract import NumericsCheck
from stages.numerics.battery import CHECKS
from stages.numerics.subject import failed


def examine(
    folder: Path,
    library: Path | None,
    device: str,
    check_limit_s: float,
    battery_limit_s: float,
) -> tuple[NumericsCheck, ...]:
    """All checks, in their order; one that was not reached has not passed, and says why."""
    with tempfile.TemporaryDirectory(prefix="breakeven-numerics-") as scratch:
        target = Path(scratch) / "checks.jsonl"
        target.touch()
        command = [sys.executable, "-m", "stages.numerics.battery", str(folder.resolve())]
        command += [
            str(library.resolve()) if library else "-",
            device,
            str(check_limit_s),
            str(target),
        ]
        process = subprocess.Popen(command, env=_environment(), start_new_session=True)
        try:
            ending = _describe_exit(process.wait(battery_limit_s))
        except subprocess.TimeoutExpired:
            ending = f"all checks together took longer than {battery_limit_s:g} s"
        finally:
            _end_group(process)
        lines = target.read_text("utf-8").splitlines()
    found = [NumericsCheck.model_validate_json(line) for line in lines]
    reached = {check.name for check in found}
    missing = [failed(name, 0, f"not run: {ending}") for name in CHECKS if name not in reached]
    return (*found, *missing)


def _environment() -> dict[str, str]:
    """This process's, with the place of this very package first on the path."""
    root = str(Path(stages.__path__[0]).parent)
    path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONPATH": path}


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """Whatever a check started goes with it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _describe_exit(status: int) -> str:
    if status < 0:
        return f"the battery was ended by {signal.Signals(-status).name}"
    return f"the battery ended with status {status}"
