"""C and F: train on one machine."""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from decision_results import budget
from tiny_job import make_workspace

from stages.contract import (
    SCRATCH,
    BudgetVerdict,
    NotTaken,
    Stage,
    folder,
    load_settings,
    read_raw,
    write,
)
from stages.train_single import main, run

BUDGET = budget(BudgetVerdict.within).model_copy(update={"micro_batch_size": 2})


def start(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch, num_steps: int = 6) -> None:
    """A workspace in which the budget has sent the job to one machine."""
    make_workspace(tmp_path, root, monkeypatch, training={"num_steps": num_steps})
    write(BUDGET)


def test_a_job_leaves_weights_curve_and_result(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a later stage and the flow read; checkpoints are gone."""
    start(tmp_path, root, monkeypatch)
    result = run(load_settings(Stage.train_single))
    curve = folder(result.stage) / "curves.jsonl"
    rows = [json.loads(line) for line in curve.read_text().splitlines()]
    assert [row["step"] for row in rows] == list(range(1, 7))
    assert {"step", "loss", "seconds"} <= set(rows[0])
    assert torch.load(folder(result.stage) / result.weights)
    assert result.final_loss.value == rows[-1]["loss"]
    assert result.validation["dice"].num_samples == 1
    assert result.micro_batch_size == 2
    assert result.efficiency.value is None
    assert result.compute_cost.value == pytest.approx(result.training_s / 3600 * 0.4)
    assert result.next is Stage.produce_model
    assert not list((SCRATCH / "checkpoints").iterdir())


def test_a_killed_job_resumes_and_tells(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Checkpoints outlive the stage's folder, which DVC removes: the whole curve is there again."""
    start(tmp_path, root, monkeypatch, num_steps=150)
    curve = folder(Stage.train_single) / "curves.jsonl"
    stage = subprocess.Popen([sys.executable, "-m", "stages.train_single"])
    try:
        wait_for_lines(curve, 20)
    finally:
        stage.kill()
        stage.wait()
    shutil.rmtree(folder(Stage.train_single))
    result = run(load_settings(Stage.train_single))
    assert result.resumed_from_step is not None
    assert 18 <= result.resumed_from_step < 150
    steps = [json.loads(line)["step"] for line in curve.read_text().splitlines()]
    assert steps == list(range(1, 151))


def wait_for_lines(path: Path, num_lines: int) -> None:
    """Until a file has grown to so many lines."""
    end = time.monotonic() + 120
    while not path.is_file() or len(path.read_text().splitlines()) < num_lines:
        assert time.monotonic() < end, f"{path} did not grow"
        time.sleep(0.02)


def test_the_stage_passes_by_when_not_named(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its result says so, and nothing is trained."""
    start(tmp_path, root, monkeypatch)
    write(budget(BudgetVerdict.over))
    write(NotTaken(stage=Stage.probe_scaling, reason="not needed here"))
    main()
    assert read_raw(Stage.train_single)["status"] == "not_taken"
