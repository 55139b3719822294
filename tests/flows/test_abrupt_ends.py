"""A run that is interrupted, killed, or loses its Prefect server."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psutil
import pytest
from fake_workspace import FakeWorkspace

from flows.dvc import child_environment
from flows.tracking import open_store

pytestmark = pytest.mark.slow


@contextmanager
def running(workspace: FakeWorkspace) -> Iterator["subprocess.Popen[str]"]:
    """A run of the command line with a Prefect server of its own."""
    environment = child_environment()
    environment.pop("PREFECT_HOME", None)
    environment.pop("PREFECT_API_URL", None)
    environment["PREFECT_CLIENT_MAX_RETRIES"] = "1"  # the default is patient for minutes
    with subprocess.Popen(
        [sys.executable, "-m", "flows.cli", "run", "--workspace", str(workspace.path)],
        cwd=workspace.path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,  # as a terminal gives it: interrupts go to the whole group
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_until(is_so: Callable[[], bool], limit_s: float = 120) -> None:
    """Return once it is so."""
    deadline = time.monotonic() + limit_s
    while not is_so():
        assert time.monotonic() < deadline, "did not come about"
        time.sleep(0.1)


def is_in(stage: str, workspace: FakeWorkspace) -> bool:
    """Whether a stage has begun to execute."""
    return (workspace.path / ".breakeven" / "executed" / stage).exists()


def statuses(workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Of the runs in MLflow."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    store = open_store(workspace.path)
    return {run.info.status for run in store.client.search_runs([store.experiment_id])}


def server_of(process: "subprocess.Popen[str]") -> psutil.Process:
    """The Prefect server that the run has started."""
    family = psutil.Process(process.pid).children(recursive=True)
    return next(child for child in family if "server" in child.cmdline())


def test_interrupt_ends_everything_and_says_how_to_go_on(
    fake_workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C: status 130, one message, no process left, nothing open in MLflow."""
    fake_workspace.set_table({"check_support": {"act": "hang"}})
    with running(fake_workspace) as process:
        wait_until(lambda: is_in("check_support", fake_workspace))
        family = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=30)
    assert process.returncode == 130, said
    assert "`breakeven run` goes on from there" in said
    assert "Traceback" not in said
    _, alive = psutil.wait_procs(family, timeout=20)
    assert not alive
    assert statuses(fake_workspace, monkeypatch) == {"KILLED", "FINISHED"}


def test_kill_leaves_no_process_and_the_next_run_goes_on(fake_workspace: FakeWorkspace) -> None:
    """SIGKILL: stages and server go with us; the next run takes the finished from the cache."""
    fake_workspace.set_table({"check_support": {"act": "hang"}})
    with running(fake_workspace) as process:
        wait_until(lambda: is_in("check_support", fake_workspace))
        family = psutil.Process(process.pid).children(recursive=True)
        process.kill()
        process.wait()
        _, alive = psutil.wait_procs(family, timeout=20)
    assert not alive
    fake_workspace.set_table({})
    ended = fake_workspace.breakeven("run")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "ingest_data       cached" in ended.stdout


def test_a_lost_server_does_not_cost_the_run(
    fake_workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The path is taken to its end and registered; the loss is said without a traceback."""
    fake_workspace.set_table({"check_support": {"pause_s": 3}})
    with running(fake_workspace) as process:
        wait_until(lambda: is_in("check_support", fake_workspace))
        server_of(process).kill()
        said, _ = process.communicate(timeout=240)
    assert process.returncode == 0, said
    assert "the Prefect server" in said
    assert "the run itself is complete" in said
    assert "Traceback" not in said
    assert statuses(fake_workspace, monkeypatch) == {"FINISHED"}
