"""A few real steps of the job, for the probes: one batch of training cases, read once."""

from collections.abc import Sequence
from dataclasses import dataclass

from stages.contract import (
    Case,
    DataShape,
    Implementation,
    IngestResult,
    Operators,
    ReadCase,
    Sample,
    Settings,
    Workload,
    derive_data_shape,
    load_workload,
    open_chosen,
    operators_for,
)
from stages.training.job import Job


@dataclass(frozen=True)
class Trial:
    """What a probe steps with."""

    workload: Workload
    operators: Operators
    shape: DataShape
    job: Job
    samples: tuple[Sample, ...]


def prepare_trial(
    ingest: IngestResult,
    cases: Sequence[Case],
    read_one: ReadCase,
    chosen: Implementation,
    settings: Settings,
    micro_batch_size: int,
) -> Trial:
    """Load workload and operator, and read as many training cases as a batch holds.

    No checkpoint falls due: a probe ends long before its job would.
    """
    training = settings.training
    job = Job(
        num_steps=training.num_steps,
        batch_size=training.batch_size,
        micro_batch_size=micro_batch_size,
        learning_rate=training.learning_rate,
        seed=training.seed,
        checkpoint_every_steps=training.num_steps,
        device=settings.infrastructure.device,
    )
    shape = derive_data_shape(ingest, settings)
    workload = load_workload(training)
    operator = open_chosen(settings.algorithm.operator)
    serves_training = "training_step" in operator.spec.contexts
    train_cases = [case for case in cases if case.split == "train"][: job.batch_size]
    lazy = workload.make_samples(train_cases, read_one, shape)
    return Trial(
        workload=workload,
        operators=operators_for(operator, chosen) if serves_training else {},
        shape=shape,
        job=job,
        samples=tuple(lazy[index] for index in range(len(train_cases))),
    )
