"""H: train on several workers, as the stage does it."""

import json
from pathlib import Path

import pytest
import torch
from decision_results import budget, scaling
from tiny_job import make_workspace

from stages.contract import (
    SCRATCH,
    BudgetVerdict,
    ScalingVerdict,
    Stage,
    folder,
    load_settings,
    write,
)
from stages.train_distributed import run


def test_two_workers_train_the_job_of_one(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The launch leaves weights, one curve and a measured efficiency beside the forecast."""
    make_workspace(tmp_path, root, monkeypatch)
    write(budget(BudgetVerdict.over))
    write(scaling(ScalingVerdict.distribute).model_copy(update={"num_workers": 2}))
    result = run(load_settings(Stage.train_distributed))
    curve = folder(result.stage) / "curves.jsonl"
    rows = [json.loads(line) for line in curve.read_text().splitlines()]
    assert [row["step"] for row in rows] == list(range(1, 7))
    assert torch.load(folder(result.stage) / result.weights)
    assert result.num_workers == 2
    assert result.final_loss.value == rows[-1]["loss"]
    step_ms, efficiency = result.step_time_ms.value, result.efficiency.value
    assert step_ms is not None
    assert efficiency == pytest.approx(400 / (2 * step_ms))
    assert result.forecast_efficiency == scaling(ScalingVerdict.distribute).forecast_efficiency
    assert result.validation["dice"].num_samples == 1
    assert not list((SCRATCH / "checkpoints").iterdir())
