"""A workspace whose stages are real to DVC, Prefect and MLflow; their work is a table."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from flows.dvc import CLONE, child_environment
from stages.contract import Stage

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


def fake_pipeline() -> dict[str, Any]:
    """The clone's pipeline with its edges between stages, and another command."""
    pipeline: dict[str, Any] = yaml.safe_load((CLONE / "dvc.yaml").read_text("utf-8"))
    for name, stage in pipeline["stages"].items():
        stage["cmd"] = f"python {FAKE_STAGE} {name}"
        if name != "environment":
            stage["deps"] = [dep for dep in stage["deps"] if dep.startswith("reports/")]
            stage["params"] = [{"table.yaml": [name]}]
            if not stage["deps"]:
                del stage["deps"]
    return pipeline
