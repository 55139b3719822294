"""A workspace whose stages are real to DVC, Prefect and MLflow; their work is a table."""

import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from flows.dvc import CLONE, child_environment
from flows.quiet import hush
from stages.contract import Stage

hush(Path("/nonexistent"))  # before Prefect and MLflow are imported anywhere
del os.environ["PREFECT_HOME"]
with warnings.catch_warnings():
    # MLflow's own use of type hints, at import
    warnings.filterwarnings("ignore", ".*Any type hint is inferred as AnyType")
    import mlflow.pyfunc
    import mlflow.store.tracking.sqlalchemy_store  # noqa: F401

FAKE_STAGE = Path(__file__).with_name("fake_stage.py")


@dataclass(frozen=True)
class FakeWorkspace:
    """A workspace under Git and DVC."""

    path: Path

    def set_table(self, table: dict[str, dict[str, Any]]) -> None:
        """What each stage shall come to; see fake_stage.py."""
        whole: dict[str, Any] = {str(stage): table.get(stage, {}) for stage in Stage}
        (self.path / "table.yaml").write_text(yaml.safe_dump(whole), "utf-8")

    def dvc(self, *arguments: str) -> str:
        """Run DVC by hand, as a person does without the flow."""
        ended = subprocess.run(
            [sys.executable, "-m", "dvc", *arguments],
            cwd=self.path,
            env=child_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout

    def breakeven(
        self, *arguments: str, env: dict[str, str] | None = None
    ) -> "subprocess.CompletedProcess[str]":
        """Run the command line as a process of its own."""
        environment = child_environment() | (env or {})
        environment.pop("PREFECT_HOME", None)  # a run in this process has set it to its own
        return subprocess.run(
            [sys.executable, "-m", "flows.cli", *arguments, "--workspace", str(self.path)],
            cwd=self.path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )


def make_fake_workspace(path: Path) -> FakeWorkspace:
    """Every stage at its default verdict: build, embed, train on one machine."""
    from flows.workspace import create_if_absent

    create_if_absent(path)
    (path / "dvc.yaml").write_text(yaml.safe_dump(fake_pipeline(), sort_keys=False), "utf-8")
    workspace = FakeWorkspace(path)
    workspace.set_table({})
    return workspace


@pytest.fixture
def fake_workspace(tmp_path: Path) -> FakeWorkspace:
    """A fresh one."""
    return make_fake_workspace(tmp_path / "workspace")


@pytest.fixture(scope="session")
def finished(
    prefect_api: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> FakeWorkspace:
    """One in which the flow came to its end twice; for reading only."""
    from flows.decide import decide

    workspace = make_fake_workspace(tmp_path_factory.mktemp("finished") / "é 50% done")
    before = Path.cwd()
    decide(workspace=str(workspace.path))
    decide(workspace=str(workspace.path))
    os.chdir(before)
    return workspace


def fake_pipeline() -> dict[str, Any]:
    """The clone's pipeline with its edges between stages, and another command."""
    pipeline = yaml.safe_load((CLONE / "dvc.yaml").read_text("utf-8"))
    for name, stage in pipeline["stages"].items():
        stage["cmd"] = f"python {FAKE_STAGE} {name}"
        if name != "environment":
            stage["deps"] = [dep for dep in stage["deps"] if dep.startswith("reports/")]
            stage["params"] = [{"table.yaml": [name]}]
            if not stage["deps"]:
                del stage["deps"]
    return pipeline


@pytest.fixture(scope="session")
def prefect_api() -> Iterator[dict[str, str]]:
    """One temporary Prefect server for the whole session, and how a child process finds it."""
    from prefect.settings import PREFECT_API_URL
    from prefect.testing.utilities import prefect_test_harness

    with prefect_test_harness(server_startup_timeout=120):
        yield {"PREFECT_API_URL": str(PREFECT_API_URL.value())}


@pytest.fixture
def inside(fake_workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch) -> FakeWorkspace:
    """The fake workspace as the current folder, with a tracking store of its own."""
    monkeypatch.chdir(fake_workspace.path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return fake_workspace
