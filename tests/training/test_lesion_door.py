"""The bundled workload comes through the same door as any other."""

import subprocess
import sys
from pathlib import Path

import pytest

from stages.contract import InputError, Training, load_parameters, load_workload


def bundled(root: Path, source: str) -> Training:
    """The training section of the repository, with another source to watch."""
    training = load_parameters(root / "params.yaml").training
    return training.model_copy(update={"workload_source": source})


def test_the_bundled_workload_loads(root: Path) -> None:
    """By the name in params.yaml."""
    workload = load_workload(bundled(root, str(root / "stages/training/lesion_segmentation")))
    assert workload.name == "lesion_segmentation"
    assert "min_distance" in workload.report_columns


def test_a_source_that_misses_the_module_is_refused(root: Path) -> None:
    """Else the cache would not see the workload change."""
    with pytest.raises(InputError, match=r"workload_source .* does not cover"):
        load_workload(bundled(root, str(root / "stages/contract")))


def test_importing_the_package_imports_nothing_heavy(root: Path) -> None:
    """A stage that is not taken stays quick."""
    code = (
        "import sys, stages.training.lesion_segmentation, stages.train_single, "
        "stages.train_distributed, stages.pilot_accuracy\n"
        "print([name for name in ('torch', 'monai', 'scipy', 'numpy') if name in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]"
