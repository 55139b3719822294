"""A training run: the job as it is set up, its cases, and where its checkpoints are."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stages.contract import (
    SCRATCH,
    BudgetResult,
    Case,
    Implementation,
    IngestResult,
    Settings,
)
from stages.training.fingerprint import digest_files, fingerprint
from stages.training.setup import Setup, set_up


@dataclass(frozen=True)
class Plan:
    """One training run."""

    setup: Setup
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
    """Set the job up, and name the checkpoints by all that counts."""
    training = settings.training
    setup = set_up(
        ingest, chosen, settings, budget.micro_batch_size, training.checkpoint_every_steps
    )
    train_cases = tuple(case for case in cases if case.split == "train")
    key = fingerprint(
        replace(setup.job, checkpoint_every_steps=1),
        setup.shape,
        num_workers,
        ingest.data_digest,
        [case.case_id for case in train_cases],
        training.workload,
        digest_files(Path(training.workload_source)),
        *((chosen, digest_files(setup.operator.path)) if setup.operator else ()),
    )
    return Plan(
        setup=setup,
        train_cases=train_cases,
        validation_cases=tuple(case for case in cases if case.split == "validation"),
        checkpoint_folder=SCRATCH / "checkpoints" / key,
    )
