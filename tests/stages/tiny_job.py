"""A workspace with a tiny 2-D data set and workload, as far as the job's stages need it."""

import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from decision_results import INGEST, STANDARD, support
from PIL import Image

from stages.contract import (
    Case,
    Implementation,
    NotTaken,
    Rung,
    SourceKind,
    Stage,
    SupportVerdict,
    write,
    write_manifest,
)

SIZE = 32
NO_OPERATOR = Implementation(rung=Rung.none, name="")
SETTINGS = {
    "product": {"case_shape": None, "accuracy_target": 0.0},
    "algorithm": {"operator": "connected_components", "timing_repeats": 5},
    "training": {
        "workload": "tiny_workload:make",
        "working_shape": None,
        "num_steps": 6,
        "batch_size": 4,
        "base_channels": 4,
        "checkpoint_every_steps": 3,
    },
}
SPLITS = ("train", "train", "train", "train", "validation", "test")


def make_workspace(
    folder: Path,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    implementation: Implementation = NO_OPERATOR,
    **changes: dict[str, Any],
) -> None:
    """Parameters, cases and the results up to B; the working folder and the path are set."""
    doors = root / "tests" / "doors"
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", f"{root}:{doors}")
    monkeypatch.syspath_prepend(str(doors))
    for name in ("dvc.yaml", "approvals.yaml"):
        shutil.copy(root / name, folder)
    params = yaml.safe_load((root / "params.yaml").read_text())
    for given in (SETTINGS, changes):
        for section, values in given.items():
            params[section] |= values
    params["training"]["workload_source"] = str(doors / "tiny_workload.py")
    (folder / "params.yaml").write_text(yaml.safe_dump(params))
    write_results(implementation)


def write_results(implementation: Implementation) -> None:
    """Data and B, the rest up to G not taken."""
    cases = tuple(_write_case(index, split) for index, split in enumerate(SPLITS))
    write_manifest(cases)
    shape = {"largest_shape": (SIZE, SIZE), "median_shape": (SIZE, SIZE)}
    update: dict[str, Any] = {
        **shape,
        "kind": SourceKind.nnunet,
        "num_spatial_dims": 2,
        "median_spacing_mm": (1.0, 1.0),
    }
    write(INGEST.model_copy(update=update))
    found = support(SupportVerdict.standard, Stage.probe_budget)
    write(found.model_copy(update={"implementation": implementation or STANDARD}))
    for stage in (
        Stage.pilot_accuracy,
        Stage.build_operator,
        Stage.validate_numerics,
        Stage.embed_operator,
    ):
        write(NotTaken(stage=stage, reason="no upstream result names it"))


def _write_case(index: int, split: Any) -> Case:
    """A bright square on noise."""
    generator = np.random.default_rng(index)
    image = generator.integers(0, 100, (SIZE, SIZE), dtype=np.uint8)
    label = np.zeros((SIZE, SIZE), np.uint8)
    row, column = generator.integers(2, SIZE - 12, 2)
    label[row : row + 8, column : column + 8] = 1
    image[label > 0] += 120
    folder = Path("cases")
    folder.mkdir(exist_ok=True)
    paths = folder / f"p{index}.png", folder / f"p{index}_label.png"
    for path, values in zip(paths, (image, label), strict=True):
        Image.fromarray(values).save(path)
    return Case(
        case_id=f"p{index}",
        patient=f"p{index}",
        split=split,
        images=(str(paths[0]),),
        label=str(paths[1]),
        shape=(SIZE, SIZE),
        spacing_mm=(1.0, 1.0),
        num_lesions=1,
        num_lesion_voxels=64,
        content_hash=f"{index:064x}",
    )


def forget_workload() -> None:
    """Let the next test import its own copy."""
    sys.modules.pop("tiny_workload", None)
