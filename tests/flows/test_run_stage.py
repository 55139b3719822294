"""A stage that falls takes down itself alone: one clear message, and every MLflow run closed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import psutil
import pytest
from fake_workspace import FakeWorkspace

from flows.decide import decide
from flows.dvc import child_environment
from flows.failures import DataRefusedError, InputRefusedError, StageFailedError
from flows.params_file import change_parameters
from flows.tracking import open_store

pytestmark = pytest.mark.usefixtures("prefect_api")


def statuses(workspace: FakeWorkspace) -> dict[str, str]:
    """Status of each MLflow run by name."""
    store = open_store(workspace.path)
    return {
        run.info.run_name: run.info.status
        for run in store.client.search_runs([store.experiment_id])
    }


def test_segmentation_fault_names_stage_signal_and_way_on(inside: FakeWorkspace) -> None:
    """Stage, signal, what is kept and how to go on are in one message."""
    inside.set_table({"ingest_data": {"act": "segfault"}})
    with pytest.raises(
        StageFailedError, match=r"(?s)^ingest_data: .*SIGSEGV.*Kept: .*`breakeven run` goes on"
    ):
        decide(workspace=str(inside.path))
    assert statuses(inside) == {
        "decide": "FAILED",
        "ingest_data": "FAILED",
        "environment": "FINISHED",
    }


def test_hanging_stage_is_ended_with_its_children(inside: FakeWorkspace) -> None:
    """At the limit the process is gone, the message names the limit, and the runs are closed."""
    change_parameters(inside.path, ["infrastructure.stage_time_limit_s=15"])
    inside.set_table({"ingest_data": {"act": "hang"}})
    with pytest.raises(StageFailedError, match=r"^ingest_data: did not end within .*= 15 s"):
        decide(workspace=str(inside.path))
    assert is_gone(int((inside.path / "hanging_pid").read_text()))
    assert statuses(inside)["ingest_data"] == "FAILED"


def test_crash_passes_on_the_error_itself(inside: FakeWorkspace) -> None:
    """The last line of the traceback is in the message."""
    inside.set_table({"ingest_data": {"act": "crash"}})
    with pytest.raises(StageFailedError, match=r"exit status 1: RuntimeError: the shelf fell down"):
        decide(workspace=str(inside.path))


def test_refused_input_passes_on_all_of_the_stages_words(inside: FakeWorkspace) -> None:
    """A message of several lines arrives whole, without DVC's own words; data has its own kind."""
    inside.set_table({"ingest_data": {"act": "refuse"}})
    with pytest.raises(InputRefusedError) as refusal:
        decide(workspace=str(inside.path))
    assert str(refusal.value) == (
        "ingest_data: expected 3 axes in case_7, got 4\n  remedy: split it by time"
    )
    assert not isinstance(refusal.value, DataRefusedError)
    inside.set_table({"validate_data": {"act": "refuse"}})
    with pytest.raises(DataRefusedError, match="case_7"):
        decide(workspace=str(inside.path))


def test_locks_of_a_dead_dvc_do_not_stop_a_run(inside: FakeWorkspace) -> None:
    """DVC's locks that name a process which is gone are recognised."""
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    locks = inside.path / ".dvc" / "tmp"
    locks.mkdir(exist_ok=True)
    (locks / "lock").write_text(f"{dead.pid:8d}\n")
    target = inside.path / "reports" / "environment"
    (locks / "rwlock").write_text(
        f'{{"write": {{"{target}": {{"pid": {dead.pid}, "cmd": "dvc repro"}}}}, "read": {{}}}}'
    )
    inside.set_table({"validate_data": {"act": "crash"}})
    with pytest.raises(StageFailedError, match=r"^validate_data"):
        decide(workspace=str(inside.path))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_killed_run_leaves_no_process_no_lock_and_no_open_run(
    prefect_api: dict[str, str], inside: FakeWorkspace, number: signal.Signals
) -> None:
    """Whatever ends the command, the stage's process goes with it and no MLflow run stays open."""
    inside.set_table({"ingest_data": {"act": "hang"}})
    process = subprocess.Popen(
        [sys.executable, "-m", "flows.cli", "run", "--workspace", str(inside.path)],
        env=child_environment() | prefect_api,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    pid_file = inside.path / "hanging_pid"
    wait_for(lambda: pid_file.is_file() or process.poll() is not None, 180)
    hanging = int(pid_file.read_text())
    second = inside.breakeven("run", "-S", "training.seed=7")
    assert second.returncode == 1
    assert f"process {process.pid}" in second.stderr
    assert "seed: 0" in (inside.path / "params.yaml").read_text("utf-8"), "touched nothing"
    os.kill(process.pid, number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == {signal.SIGKILL: -9}.get(number, 130)
    assert ("interrupted; what was finished is kept" in said) == (number != signal.SIGKILL)
    wait_for(lambda: is_gone(hanging), 20)
    assert is_gone(hanging)
    closed = statuses(inside)
    assert closed["decide"] == closed["ingest_data"] == "KILLED"


def wait_for(condition: Callable[[], bool], limit_s: float) -> None:
    deadline = time.monotonic() + limit_s
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.2)


def is_gone(pid: int) -> bool:
    """Whether a process has ended; one that nobody has asked after yet counts as ended."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
