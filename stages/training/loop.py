"""The training loop: the same steps whether unbroken or resumed, alone or with others."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from torch import nn

from stages.contract import DataShape, InputError, Operators, Sample, Workload
from stages.training.checkpoints import load_newest, save
from stages.training.curve import Row
from stages.training.job import Job
from stages.training.order import make_batch, seed_step
from stages.training.step import Step, make_step
from stages.training.team import ALONE, Team

DECAY_POWER = 0.9
OnStep = Callable[[Row], None]


@dataclass(frozen=True)
class Trained:
    """What came out."""

    model: nn.Module
    curve: tuple[Row, ...]
    """Every step, resumed parts included."""
    resumed_from_step: int | None

    @property
    def training_s(self) -> float:
        """Wall time of all steps, resumed parts included."""
        return sum(row["seconds"] for row in self.curve)

    @property
    def final_loss(self) -> float:
        """Loss of the last step."""
        return self.curve[-1]["loss"]


def train(
    workload: Workload,
    operators: Operators,
    samples: Sequence[Sample],
    shape: DataShape,
    job: Job,
    checkpoint_folder: Path,
    on_step: OnStep,
    team: Team = ALONE,
) -> Trained:
    """Train for `job.num_steps` steps, from the newest good checkpoint in the folder if there is
    one.

    A resumed job takes the same steps as an unbroken one, bit by bit on one machine. `on_step`
    hears of every step, those of earlier attempts first. The folder belongs to this job alone: name
    it by `fingerprint`, and remove it once the result is kept.

    Raises:
        InputError: there are no samples, or the loss is no longer finite.
    """
    if not samples:
        raise InputError("training needs at least one case in the split 'train', got 0")
    step = make_step(workload, operators, shape, job)
    curve = _restore(step, job, checkpoint_folder)
    first = len(curve)
    for row in curve:
        on_step(row)
    step.network = team.wrap(step)
    for index in range(first, job.num_steps):
        row = _take(step, workload, samples, job, index, team)
        curve.append(row)
        on_step(row)
        is_due = len(curve) % job.checkpoint_every_steps == 0 or len(curve) == job.num_steps
        if team.rank == 0 and is_due:
            save(checkpoint_folder, len(curve), _state(step, job, curve))
    return Trained(step.model, tuple(curve), first or None)


def _take(
    step: Step, workload: Workload, samples: Sequence[Sample], job: Job, index: int, team: Team
) -> Row:
    """One step of the job on this worker's part of the global batch."""
    started = time.perf_counter()
    rate = learning_rate(job, index)
    for group in step.optimizer.param_groups:
        group["lr"] = rate
    places = team.slice_of(job.batch_size)
    share = team.num_workers * len(places) / job.batch_size
    positions = [index * job.batch_size + place for place in places or (0,)]
    seed_step(job.seed, index)
    loss = team.average(step.run(make_batch(workload, samples, job, positions), share)).item()
    if not math.isfinite(loss):
        raise InputError(
            f"training: the loss of step {index + 1} is {loss}; lower training.learning_rate "
            f"({job.learning_rate} in params.yaml) or look at the data of this step"
        )
    seconds = time.perf_counter() - started
    return Row(step=index + 1, loss=loss, seconds=seconds, learning_rate=rate)


def learning_rate(job: Job, index: int) -> float:
    """Rate of step `index`, counted from 0: it falls from the job's rate to nearly 0."""
    remaining: float = 1 - index / job.num_steps
    return job.learning_rate * math.pow(remaining, DECAY_POWER)


def _state(step: Step, job: Job, curve: list[Row]) -> dict[str, Any]:
    return {
        "job": asdict(replace(job, device="")),
        "model": step.model.state_dict(),
        "optimizer": step.optimizer.state_dict(),
        "curve": [dict(row) for row in curve],
    }


def _restore(step: Step, job: Job, folder: Path) -> list[Row]:
    """Put the newest good state into the step; its curve, empty for a fresh start."""
    state = load_newest(folder)
    if state is None:
        return []
    if state["job"] != asdict(replace(job, device="")):
        raise InputError(
            f"{folder}: expected checkpoints of {job}, found those of {state['job']}; "
            f"remove the folder"
        )
    step.model.load_state_dict(state["model"])
    step.optimizer.load_state_dict(state["optimizer"])
    curve: list[Row] = state["curve"]
    return curve
