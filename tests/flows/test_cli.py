"""The command line, as a process of its own."""

import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import psutil
import pytest
from fake_workspace import FakeWorkspace

from flows.dvc import child_environment


def test_help_imports_none_of_the_heavy_tools() -> None:
    """`breakeven --help` answers without Prefect, MLflow, torch or DVC."""
    script = (
        "import sys; sys.argv = ['breakeven', '--help']\n"
        "from flows.cli import app\n"
        "try: app()\n"
        "except SystemExit: pass\n"
        "heavy = {'prefect', 'mlflow', 'torch', 'dvc', 'pandas', 'monai'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script],
        env=child_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    for command in ("run", "report", "check-data", "collect", "schedule", "ui"):
        assert command in ended.stdout


def test_run_says_changes_verdict_and_places(fake_workspace: FakeWorkspace) -> None:
    """Without a terminal: plain lines, the change, the last screen; `report` shows it again."""
    ended = fake_workspace.breakeven("run", "-S", "training.seed=3")
    assert ended.returncode == 0, ended.stderr
    assert "params.yaml: training.seed: 0 -> 3" in ended.stdout
    assert "check_support     executed" in ended.stdout
    assert "\x1b[" not in ended.stdout
    last = ended.stdout[ended.stdout.index("Build it") :]
    assert "verdict  build (distance_transform)" in last
    assert "lesion_segmentation version 1, champion" in last
    assert str(fake_workspace.path / "reports/record_decision/decision.html") in last
    assert "breakeven ui" in last
    again = fake_workspace.breakeven("report")
    assert again.returncode == 0
    assert "verdict  build (distance_transform)" in again.stdout


def test_fresh_executes_every_stage(
    prefect_api: dict[str, str], fake_workspace: FakeWorkspace
) -> None:
    """--fresh ignores the cache, the run cache included."""
    fake_workspace.dvc("repro")
    ended = fake_workspace.breakeven("run", "--fresh", env=prefect_api)
    assert ended.returncode == 0, ended.stderr
    assert " cached " not in ended.stdout
    assert ended.stdout.count(" executed ") == 11


def test_bad_input_is_one_message_and_status_2(fake_workspace: FakeWorkspace) -> None:
    """No traceback, nothing started, not a byte changed."""
    parameters = fake_workspace.path / "params.yaml"
    before = parameters.read_bytes()
    ended = fake_workspace.breakeven("run", "-S", "training.seed=x")
    assert ended.returncode == 2
    assert "training.seed should be a valid integer" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (fake_workspace.path / "reports").exists()
    assert parameters.read_bytes() == before
    without = fake_workspace.breakeven("report")
    assert without.returncode == 2
    assert "start with `breakeven run`" in without.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "-S", "nonsense"], "expected section.key=value"),
        (["run", "--data", "nowhere"], "found no such folder"),
        (["run", "--operator", "nonsense"], "expected one of connected_components"),
        (["schedule", "--cron", "nonsense"], "expected a cron line of five fields"),
    ],
)
def test_a_refused_first_use_makes_nothing(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    """Everything is checked before the workspace is made."""
    place = tmp_path / "new"
    ended = breakeven(*arguments, "--workspace", str(place))
    assert ended.returncode == 2
    assert message in ended.stderr
    assert "Warning" not in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not place.exists()


def test_an_empty_path_is_not_the_current_folder() -> None:
    """As from a variable that is not set."""
    for arguments in (["check-data", ""], ["run", "--workspace", ""], ["run", "--data", ""]):
        ended = breakeven(*arguments)
        assert ended.returncode == 2
        assert "expected a path, got an empty text" in ended.stderr


def test_collect_leaves_a_folder_alone_that_is_no_workspace(tmp_path: Path) -> None:
    """Not even a lock is left in it."""
    (tmp_path / "mine").write_text("")
    ended = breakeven("collect", "--workspace", str(tmp_path))
    assert ended.returncode == 2
    assert "expected a workspace, found none" in ended.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_failed_stage_is_one_message_and_status_1(
    prefect_api: dict[str, str], fake_workspace: FakeWorkspace
) -> None:
    """The crash of a stage is said once, without our own traceback around it."""
    fake_workspace.set_table({"ingest_data": {"act": "segfault"}})
    ended = fake_workspace.breakeven("run", env=prefect_api)
    assert ended.returncode == 1
    assert "SIGSEGV" in ended.stderr
    assert "Traceback" not in ended.stderr


def breakeven(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """The command line, without a workspace of its own."""
    return subprocess.run(
        [sys.executable, "-m", "flows.cli", *arguments],
        env=child_environment(),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_pages_are_served_until_interrupted_and_leave_no_process(
    fake_workspace: FakeWorkspace,
) -> None:
    """Both addresses answer on loopback; after Ctrl-C all processes are gone."""
    command = [sys.executable, "-m", "flows.cli", "ui", "--workspace", str(fake_workspace.path)]
    process = subprocess.Popen(
        command,
        env=child_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line)
        if "Ctrl-C" in line:
            break
    urls = [word for line in said for word in line.split() if word.startswith("http://127.0.0.1:")]
    answers = []
    for url in urls:
        with urlopen(url, timeout=30) as answer:
            answers.append(answer.status)
    descendants = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert answers == [200, 200], "".join(said)
    assert process.returncode == 0
    _, alive = psutil.wait_procs(descendants, timeout=20)
    assert not alive
