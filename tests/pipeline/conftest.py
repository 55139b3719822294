"""A whole run on a tiny data set, workload and operator, all from outside the repository."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from PIL import Image

from tests.conftest import ROOT

TINY = {
    "product.accuracy_metric": "dice",
    "product.accuracy_target": 0.0,
    "product.latency_budget_ms": 100_000,  # met in any noise: the verdict must not flip
    "algorithm.timing_repeats": 5,
    "data.patient_pattern": "(p\\d+)_",
    "training.workload": "tiny_workload:make",
    "training.num_steps": 6,
    "training.checkpoint_every_steps": 3,
    "training.base_channels": 4,
}


@dataclass(frozen=True)
class Doors:
    """What comes from outside: a data folder, a workload's folder, an operator's folder."""

    data: Path
    workload: Path
    operator: Path


@dataclass(frozen=True)
class Workspace:
    """A workspace of its own, driven through the command line only."""

    path: Path
    doors: Doors
    environment: dict[str, str] = field(default_factory=dict)

    def breakeven(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Call the command line; the result holds what it printed."""
        return self._call([sys.executable, "-m", "flows.cli", *arguments])

    def run(self, *arguments: str, **settings: Any) -> "subprocess.CompletedProcess[str]":
        """`breakeven run` here; settings are given as section__key=value."""
        changes = [f"{key.replace('__', '.')}={json.dumps(v)}" for key, v in settings.items()]
        flags = [part for change in changes for part in ("-S", change)]
        return self.breakeven("run", "--workspace", str(self.path), *arguments, *flags)

    def first_run(self) -> "subprocess.CompletedProcess[str]":
        """A run with the doors open and everything small."""
        data, operator = ("--data", str(self.doors.data)), ("--operator", str(self.doors.operator))
        settings = {key.replace(".", "__"): value for key, value in TINY.items()}
        return self.run(*data, *operator, **settings)

    def dvc(self, *arguments: str) -> str:
        """DVC in the workspace, as a person would call it."""
        return self._call([sys.executable, "-m", "dvc", *arguments], check=True).stdout

    def stale(self) -> set[str]:
        """The stages that DVC finds changed."""
        return set(json.loads(self.dvc("status", "--json")))

    def result(self, stage: str) -> dict[str, Any]:
        """A stage's result."""
        path = self.path / "reports" / stage / "result.json"
        result: dict[str, Any] = json.loads(path.read_text("utf-8"))
        return result

    def marks(self) -> dict[str, int]:
        """When each stage last executed itself."""
        folder = self.path / ".breakeven" / "executed"
        return {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}

    def client(self) -> Any:
        """A client of the workspace's MLflow store."""
        import mlflow

        return mlflow.MlflowClient(f"sqlite:///{self.path}/.breakeven/mlflow.db")

    def approve(self, stage: str, verdict: str, following: str) -> None:
        """Write an approval."""
        approvals = yaml.safe_load((self.path / "approvals.yaml").read_text("utf-8"))
        approvals[stage] = {
            "verdict": verdict,
            "next": following,
            "by": "a tester",
            "date": "2026-01-31",
            "because": "the way back is tested",
        }
        (self.path / "approvals.yaml").write_text(yaml.safe_dump(approvals, default_style=None))

    def _call(
        self, command: Sequence[str], check: bool = False
    ) -> "subprocess.CompletedProcess[str]":
        paths = [str(ROOT), str(self.doors.workload)]
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(paths),
            **self.environment,
        }
        cwd = self.path if self.path.is_dir() else ROOT
        return subprocess.run(
            command, cwd=cwd, env=environment, capture_output=True, text=True, check=check
        )


def write_slices(folder: Path, num_patients: int = 6) -> None:
    """A 2-D nnU-Net folder: two 32 x 32 slices a patient, one bright square each."""
    for name in ("imagesTr", "labelsTr"):
        (folder / name).mkdir(parents=True)
    generator = np.random.default_rng(0)
    for patient in range(num_patients):
        for number in range(2):
            label = np.zeros((32, 32), np.uint8)
            row, column = generator.integers(2, 22, 2)
            label[row : row + 6, column : column + 7] = 1
            image = (60 + 120 * label + generator.integers(0, 30, label.shape)).astype(np.uint8)
            case = f"p{patient:02d}_{number}"
            Image.fromarray(image).save(folder / "imagesTr" / f"{case}_0000.png")
            Image.fromarray(label).save(folder / "labelsTr" / f"{case}.png")
    description = {
        "channel_names": {"0": "bright"},
        "labels": {"background": 0, "lesion": 1},
        "numTraining": 2 * num_patients,
        "file_ending": ".png",
    }
    (folder / "dataset.json").write_text(json.dumps(description))


def open_doors(place: Path) -> Doors:
    """Copy the doors to a place outside the repository."""
    doors = Doors(place / "data", place / "workload", place / "operators" / "neighbour_count")
    write_slices(doors.data)
    doors.workload.mkdir()
    shutil.copy(ROOT / "tests/doors/tiny_workload.py", doors.workload)
    shutil.copytree(
        ROOT / "tests/doors/neighbour_count",
        doors.operator,
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    return doors


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A workspace after its first run; tests that share it leave it as they found it."""
    place = tmp_path_factory.mktemp("finished é 50%")
    workspace = Workspace(place / "workspace", open_doors(place))
    ended = workspace.first_run()
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return workspace


@pytest.fixture
def fresh(tmp_path: Path) -> Workspace:
    """A workspace that does not exist yet, with doors of its own."""
    return Workspace(tmp_path / "workspace", open_doors(tmp_path))
