"""A worker of a distributed training: its part of the job, and what it measured."""

from dataclasses import replace
from pathlib import Path

from stages.contract import ReadCase
from stages.training.curve import CURVES, CurveFile, ignore_row
from stages.training.distributed import joined_team, largest_over_workers
from stages.training.loop import train
from stages.training.memory import peak_memory_bytes
from stages.training.orders import WorkerOutcome
from stages.training.outcome import save_weights, step_time
from stages.training.plan import Plan


def train_as_worker(plan: Plan, read_one: ReadCase, target: Path) -> WorkerOutcome | None:
    """Train this worker's part of the plan.

    The first worker writes curve and weights into the target folder and gives the outcome; the
    others give None.
    """
    workload, shape, job = plan.setup.workload, plan.setup.shape, plan.setup.job
    samples = workload.make_samples(plan.train_cases, read_one, shape)
    with joined_team(workload, samples, job) as (team, device):
        trained = train(
            workload,
            plan.setup.operators,
            samples,
            shape,
            replace(job, device=device),
            plan.checkpoint_folder,
            CurveFile(target / CURVES) if team.rank == 0 else ignore_row,
            team,
        )
        memory = largest_over_workers(peak_memory_bytes(device), device)
    if team.rank != 0:
        return None
    save_weights(trained.model, target)
    return WorkerOutcome(
        training_s=trained.training_s,
        step_time_ms=step_time(trained.curve),
        final_loss=trained.final_loss,
        resumed_from_step=trained.resumed_from_step,
        peak_memory_bytes=int(memory),
    )
