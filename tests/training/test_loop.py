"""The training loop in one process."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from blob_cases import make_cases, make_job, make_shape, read_blobs
from torch import Tensor

from stages.contract import InputError, Sample, Workload
from stages.training.curve import Row, ignore_row
from stages.training.job import Job
from stages.training.lesion_segmentation import make
from stages.training.loop import Trained, train


class Stopped(Exception):  # noqa: N818 - an event, not an error
    """Stands for a kill between two steps."""


def run(
    folder: Path, job: Job, stop_at: int | None = None, workload: Workload | None = None
) -> Trained:
    """Train on the tiny cases, stopping after a step if asked to."""

    def on_step(row: Row) -> None:
        if row["step"] == stop_at:
            raise Stopped

    workload = workload or make()
    shape = make_shape()
    samples = workload.make_samples(make_cases(), read_blobs, shape)
    return train(workload, {}, samples, shape, job, folder, on_step)


def weights(trained: Trained) -> Tensor:
    """All weights in one vector."""
    return torch.cat([values.flatten() for values in trained.model.state_dict().values()])


@pytest.mark.parametrize("stop_at", [1, 3, 4])
def test_a_resumed_job_equals_the_unbroken_one(tmp_path: Path, stop_at: int) -> None:
    """Stopped before, between or at checkpoints: weights and losses agree bit by bit."""
    unbroken = run(tmp_path / "unbroken", make_job())
    with pytest.raises(Stopped):
        run(tmp_path / "broken", make_job(), stop_at)
    resumed = run(tmp_path / "broken", make_job())
    assert resumed.resumed_from_step == {1: None, 3: 2, 4: 2}[stop_at]
    assert torch.equal(weights(resumed), weights(unbroken))
    assert [row["loss"] for row in resumed.curve] == [row["loss"] for row in unbroken.curve]


def test_a_damaged_checkpoint_costs_only_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The job resumes from the one before, to the same weights."""
    unbroken = run(tmp_path / "unbroken", make_job())
    with pytest.raises(Stopped):
        run(tmp_path / "broken", make_job(), stop_at=5)
    newest = tmp_path / "broken" / "step-00000004.pt"
    newest.write_bytes(newest.read_bytes()[:-9])
    resumed = run(tmp_path / "broken", make_job())
    assert resumed.resumed_from_step == 2
    assert "damaged" in capsys.readouterr().err
    assert torch.equal(weights(resumed), weights(unbroken))


def test_the_micro_batch_changes_rounding_alone(tmp_path: Path) -> None:
    """A batch of 4 in parts of 3 and 1 trains as in one piece.

    The first losses agree to float32 rounding; later ones drift apart as Adam divides small
    gradients."""
    whole = run(tmp_path / "whole", make_job(3, batch_size=4, micro_batch_size=4))
    parts = run(tmp_path / "parts", make_job(3, batch_size=4, micro_batch_size=3))
    for a, b in zip(whole.curve, parts.curve, strict=True):
        assert b["loss"] == pytest.approx(a["loss"], rel=1e-4)


def test_training_lowers_the_loss(tmp_path: Path) -> None:
    """Twenty steps on two bright cubes take the loss well below its start."""
    curve = run(tmp_path, make_job(20)).curve
    assert curve[-1]["loss"] < 0.9 * curve[0]["loss"]


def test_checkpoints_of_another_job_are_refused(tmp_path: Path) -> None:
    """A folder belongs to one job; the message says what to do."""
    run(tmp_path, make_job(2))
    with pytest.raises(InputError, match="remove the folder"):
        run(tmp_path, replace(make_job(2), learning_rate=0.1))


def test_a_loss_that_is_not_finite_stops_the_job(tmp_path: Path) -> None:
    """The step and what to change are named."""

    def diverge(logits: Tensor, batch: Sample) -> Tensor:
        return logits.sum() * float("nan")

    workload = replace(make(), make_loss=lambda operators: diverge)
    with pytest.raises(
        InputError, match=r"the loss of step 1 is nan; lower training\.learning_rate"
    ):
        run(tmp_path, make_job(2), workload=workload)


def test_no_training_cases_are_refused(tmp_path: Path) -> None:
    """An empty split is the data's fault, not a crash."""
    with pytest.raises(InputError, match="at least one case in the split 'train', got 0"):
        train(make(), {}, [], make_shape(), make_job(), tmp_path, ignore_row)
