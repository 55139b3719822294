"""What every step of the job stands on, in training and in the probes alike."""

from dataclasses import dataclass, replace
from typing import Self

from kernels.folder import OperatorFolder
from stages.contract import (
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
from stages.training.job import Job


@dataclass(frozen=True)
class Setup:
    """The job, all but its samples."""

    workload: Workload
    operator: OperatorFolder | None
    """The operator's folder; None where the operator does not serve the training step."""
    operators: Operators
    """Handles for the loss, with the chosen implementation inside."""
    shape: DataShape
    job: Job

    def on(self, device: str) -> Self:
        """The same on another device."""
        return replace(self, job=replace(self.job, device=device))


def set_up(
    ingest: IngestResult,
    chosen: Implementation,
    settings: Settings,
    micro_batch_size: int,
    checkpoint_every_steps: int,
) -> Setup:
    """Load workload and operator, and derive the shapes."""
    training = settings.training
    operator = open_chosen(settings.algorithm.operator)
    serves_training = "training_step" in operator.spec.contexts
    return Setup(
        workload=load_workload(training),
        operator=operator if serves_training else None,
        operators=operators_for(operator, chosen) if serves_training else {},
        shape=derive_data_shape(ingest, settings),
        job=Job(
            num_steps=training.num_steps,
            batch_size=training.batch_size,
            micro_batch_size=micro_batch_size,
            learning_rate=training.learning_rate,
            seed=training.seed,
            checkpoint_every_steps=checkpoint_every_steps,
            device=settings.infrastructure.device,
        ),
    )
