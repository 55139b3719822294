"""Several workers: the same result as one, and faults that end well."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from blob_cases import make_cases, make_job, make_shape, read_blobs

from stages.training.curve import ignore_row
from stages.training.launch import LaunchError, launch
from stages.training.lesion_segmentation import make
from stages.training.loop import Trained, train

HERE = Path(__file__).parent
LIMIT_S = 300.0


def paths(root: Path) -> dict[str, str]:
    """So that the workers find the package and this folder."""
    return {"PYTHONPATH": f"{root}{os.pathsep}{HERE}"}


def run_workers(
    root: Path,
    folder: Path,
    *,
    num_workers: int = 2,
    batch_size: int = 2,
    fault: str = "nothing",
    limit_s: float = LIMIT_S,
    num_restarts: int = 1,
) -> dict[str, Any]:
    """Train the tiny job with several workers; losses, and the step that it resumed from."""
    folder.mkdir(exist_ok=True)
    arguments = (str(folder), "5", str(batch_size), fault)
    launch("blob_worker", arguments, num_workers, folder, limit_s, paths(root), num_restarts)
    outcome: dict[str, Any] = json.loads((folder / "out.json").read_text())
    return outcome


def train_alone(folder: Path, batch_size: int = 2) -> Trained:
    """The same job in this process."""
    workload, shape = make(), make_shape()
    samples = workload.make_samples(make_cases(), read_blobs, shape)
    job = make_job(5, batch_size, micro_batch_size=1)
    return train(workload, {}, samples, shape, job, folder, ignore_row)


@pytest.mark.parametrize(("num_workers", "batch_size"), [(2, 2), (2, 3), (2, 1)])
def test_several_workers_train_like_one(
    root: Path, tmp_path: Path, num_workers: int, batch_size: int
) -> None:
    """Equal parts, unequal parts, and a worker without a sample.

    Losses agree to 1e-4 and weights to 1e-4 after five steps of a rate of 0.003: gradients are
    summed in another order, and Adam divides by their size."""
    alone = train_alone(tmp_path / "alone", batch_size)
    together = run_workers(
        root, tmp_path / "together", num_workers=num_workers, batch_size=batch_size
    )
    assert together["losses"] == pytest.approx([row["loss"] for row in alone.curve], rel=1e-4)
    weights = torch.load(tmp_path / "together" / "out.pt")
    for name, expected in alone.model.state_dict().items():
        assert torch.allclose(weights[name], expected, atol=1e-4), name


def test_a_killed_worker_is_started_again(root: Path, tmp_path: Path) -> None:
    """All resume from the newest checkpoint, and end as an unbroken run does, bit by bit."""
    unbroken = run_workers(root, tmp_path / "unbroken")
    broken = run_workers(root, tmp_path / "broken", fault="kill")
    assert (tmp_path / "broken" / "fault_happened").exists()
    assert broken["resumed"] == 2
    assert broken["losses"] == unbroken["losses"]


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        ("raise", r"(?s)worker 1: Traceback.*OSError: the disk is on fire"),
        ("kill", r"worker 1 was ended by SIGKILL"),
    ],
)
def test_the_first_cause_is_named(root: Path, tmp_path: Path, fault: str, cause: str) -> None:
    """Not what the other workers met because of it."""
    with pytest.raises(LaunchError, match=cause):
        run_workers(root, tmp_path / "job", fault=fault, num_restarts=0)


def test_a_hang_ends_at_the_time_limit(root: Path, tmp_path: Path) -> None:
    """The message says so, and no process is left."""
    with pytest.raises(LaunchError, match="took longer than 45 s and were stopped"):
        run_workers(root, tmp_path / "job", fault="hang", limit_s=45)
    assert find_processes(tmp_path) == []


def test_workers_end_with_their_starter(root: Path, tmp_path: Path) -> None:
    """The launcher has a session of its own; it ends all the same when the stage is killed."""
    folder = tmp_path / "job"
    folder.mkdir()
    code = (
        "from pathlib import Path; from stages.training.launch import launch\n"
        f"launch('blob_worker', ({str(folder)!r}, '5', '2', 'hang'), 2, Path({str(folder)!r}), 300)"
    )
    starter = subprocess.Popen(
        [sys.executable, "-c", code], env={**os.environ, **paths(root)}, stdout=subprocess.DEVNULL
    )
    try:
        wait_for(lambda: (folder / "fault_happened").exists())
    finally:
        starter.send_signal(signal.SIGKILL)
        starter.wait()
    wait_for(lambda: find_processes(tmp_path) == [])


def find_processes(folder: Path) -> list[int]:
    """Processes with the folder in their command line, this one left out."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        is_alive = process.info["status"] != psutil.STATUS_ZOMBIE
        command = process.info["cmdline"] or ()
        if is_alive and process.pid != os.getpid() and any(str(folder) in a for a in command):
            found.append(process.pid)
    return found


def wait_for(happened: Any, limit_s: float = 200.0) -> None:
    """Until a condition holds."""
    end = time.monotonic() + limit_s
    while not happened():
        assert time.monotonic() < end, "did not happen within the limit"
        time.sleep(0.2)
