"""A schedule is a real deployment on a real server."""

import signal
import subprocess
import sys
import time

import psutil
import pytest
from fake_workspace import FakeWorkspace

from flows.dvc import child_environment
from flows.schedule import check_schedule
from flows.tracking import open_store
from stages.contract import InputError


@pytest.mark.parametrize(("cron", "zone"), [("every day", "UTC"), ("0 2 * * *", "Atlantis")])
def test_a_schedule_that_could_never_fire_is_refused(cron: str, zone: str) -> None:
    """The message shows what was expected and what arrived."""
    with pytest.raises(InputError, match=r"cron line of five fields.*got '"):
        check_schedule(cron, zone)


@pytest.mark.slow
def test_a_scheduled_run_comes_to_its_record(fake_workspace: FakeWorkspace) -> None:
    """One command starts server and deployment; a run follows; Ctrl-C ends all of it."""
    path = fake_workspace.path
    server = subprocess.Popen(
        [sys.executable, "-m", "flows.cli", "schedule", "--cron", "* * * * *", "--workspace", path],
        env=child_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    finished: list[str] = []
    descendants: list[psutil.Process] = []
    deadline = time.monotonic() + 300
    try:
        store = open_store(path)
        while not finished and time.monotonic() < deadline and server.poll() is None:
            time.sleep(1)
            finished = [
                run.info.run_id
                for run in store.client.search_runs(
                    [store.experiment_id], "tags.`breakeven.level` = 'run'"
                )
                if run.info.status == "FINISHED"
            ]
        descendants = psutil.Process(server.pid).children(recursive=True)
    finally:
        server.send_signal(signal.SIGINT)
        output, _ = server.communicate(timeout=60)
    assert finished, output
    assert (path / "reports" / "record_decision" / "decision.html").is_file()
    assert "serving  decide/breakeven workspace" in output
    _, alive = psutil.wait_procs(descendants, timeout=20)
    assert not alive
