"""The pilot's two arms: same seeds, steps and samples, with and without the operator's logic."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from stages.contract import Arm, Case, DataShape, Operators, Sample, Workload
from stages.training.curve import Row
from stages.training.fingerprint import fingerprint
from stages.training.job import Job
from stages.training.loop import train

CaseMetrics = Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class ArmRuns:
    """One arm's metrics a case, for each seed."""

    name: str
    by_seed: tuple[CaseMetrics, ...]

    def summary(self) -> Arm:
        """Means over the held-out cases, one a seed; a metric that the workload lacks is empty."""
        return Arm(
            name=self.name,
            lesion_f1=self._means("lesion_f1"),
            dice=self._means("dice"),
            lesion_recall=self._means("lesion_recall"),
        )

    def _means(self, metric: str) -> tuple[float, ...]:
        means = (mean_of_known(metrics.get(metric, ())) for metrics in self.by_seed)
        return tuple(mean for mean in means if mean is not None)


class ArmCurves:
    """Both arms' curves in one file, each row with its arm and seed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", "utf-8")

    def __call__(self, arm: str, seed: int, row: Row) -> None:
        """Write one row at once."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"arm": arm, "seed": seed, **row}) + "\n")


@dataclass(frozen=True)
class Trial:
    """What both arms share."""

    workload: Workload
    samples: Sequence[Sample]
    shape: DataShape
    job: Job
    num_seeds: int
    checkpoint_root: Path
    evaluate: Callable[..., CaseMetrics]
    """From a model to its metrics on the held-out cases."""
    on_step: Callable[[str, int, Row], None]
    """Told the arm, the seed and the step."""


def run_arm(trial: Trial, name: str, operators: Operators, key: str) -> ArmRuns:
    """Train and evaluate one arm for each seed, from the job's seed upwards.

    A run that was interrupted resumes; `key` tells apart what the job does not: data and operator.
    """
    runs = []
    for seed in range(trial.job.seed, trial.job.seed + trial.num_seeds):
        job = replace(trial.job, seed=seed)
        trained = train(
            trial.workload,
            operators,
            trial.samples,
            trial.shape,
            job,
            trial.checkpoint_root / fingerprint(name, key, job, trial.shape),
            partial(trial.on_step, name, seed),
        )
        runs.append(trial.evaluate(trained.model))
    return ArmRuns(name, tuple(runs))


def paired_differences(baseline: ArmRuns, candidate: ArmRuns, metric: str) -> list[list[float]]:
    """Candidate minus baseline for each seed and case; NaN where either is."""
    return [
        [b - a for a, b in zip(without[metric], with_logic[metric], strict=True)]
        for without, with_logic in zip(baseline.by_seed, candidate.by_seed, strict=True)
    ]


def mean_of_known(values: Sequence[float]) -> float | None:
    """Mean of the values that are not NaN; None when there is none."""
    known = [value for value in values if value == value]
    return sum(known) / len(known) if known else None


def held_out(cases: Sequence[Case]) -> tuple[Case, ...]:
    """The cases on which the arms are compared; their patients are in no other split."""
    return tuple(case for case in cases if case.split == "validation")
