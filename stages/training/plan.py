"""Everything that a training run starts from, gathered from settings and results."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stages.contract import (
    SCRATCH,
    BudgetResult,
    Case,
    DataShape,
    Implementation,
    IngestResult,
    Operators,
    Settings,
    Workload,
    derive_data_shape,
    load_workload,
    open_chosen,
    operators_for,
)
from stages.training.fingerprint import digest_files, fingerprint
from stages.training.job import Job


@dataclass(frozen=True)
class Plan:
    """One training run."""

    workload: Workload
    operators: Operators
    shape: DataShape
    job: Job
    train_cases: tuple[Case, ...]
    validation_cases: tuple[Case, ...]
    checkpoint_folder: Path
    """Outside the stage's folder, which DVC removes before the stage runs."""


def plan_training(
    ingest: IngestResult,
    cases: Sequence[Case],
    budget: BudgetResult,
    chosen: Implementation,
    settings: Settings,
    num_workers: int = 1,
) -> Plan:
    """Load workload and operator, derive shapes, and name the checkpoints by all that counts."""
    training = settings.training
    shape = derive_data_shape(ingest, settings)
    job = Job(
        num_steps=training.num_steps,
        batch_size=training.batch_size,
        micro_batch_size=budget.micro_batch_size,
        learning_rate=training.learning_rate,
        seed=training.seed,
        checkpoint_every_steps=training.checkpoint_every_steps,
        device=settings.infrastructure.device,
    )
    operator = open_chosen(settings.algorithm.operator)
    serves_training = "training_step" in operator.spec.contexts
    key = fingerprint(
        replace(job, checkpoint_every_steps=1),
        shape,
        num_workers,
        ingest.data_digest,
        [case.case_id for case in cases if case.split == "train"],
        training.workload,
        digest_files(Path(training.workload_source)),
        chosen if serves_training else None,
        digest_files(operator.path) if serves_training else None,
    )
    return Plan(
        workload=load_workload(training),
        operators=operators_for(operator, chosen) if serves_training else {},
        shape=shape,
        job=job,
        train_cases=tuple(case for case in cases if case.split == "train"),
        validation_cases=tuple(case for case in cases if case.split == "validation"),
        checkpoint_folder=SCRATCH / "checkpoints" / key,
    )
