"""Node H: train on several workers, started by torchrun."""

import sys
from collections.abc import Sequence
from pathlib import Path

from stages.contract import (
    BudgetResult,
    Case,
    Figure,
    Frozen,
    Implementation,
    IngestResult,
    InputError,
    ScalingResult,
    Settings,
    Stage,
    TrainingResult,
    chosen_implementation,
    execute,
    folder,
    known,
    load_settings,
    read,
    read_manifest,
    write_text,
)

STAGE = Stage.train_distributed
SHORTEST_TIME_LIMIT_S = 900.0
TIME_LIMIT_FACTOR = 10.0
"""Of the forecast time of the whole job."""


class WorkerOrder(Frozen):
    """What the launched workers are told, in a file; all else they read like the stage itself."""

    num_workers: int
    outcome: str
    """Where the first worker leaves what it measured."""
    failures: str
    """Folder in which the first worker that fails says why."""


class WorkerOutcome(Frozen):
    """What the first worker measured."""

    training_s: float
    step_time_ms: Figure
    final_loss: float
    resumed_from_step: int | None
    peak_memory_bytes: int
    """Largest over all workers."""


def train_distributed(
    ingest: IngestResult,
    cases: Sequence[Case],
    budget: BudgetResult,
    scaling: ScalingResult,
    chosen: Implementation,
    settings: Settings,
) -> TrainingResult:
    """Launch the workers, wait for them, and measure the model on the validation cases.

    Writes `weights.pt` and `curves.jsonl` to the stage's folder.

    Raises:
        InputError: another launcher than the local one is asked for, or no training cases.
        LaunchError: the workers failed; the first cause is named.
    """
    import shutil
    from functools import partial

    from stages.imaging.reading import read_case
    from stages.training.evaluate import evaluate
    from stages.training.launch import launch
    from stages.training.outcome import (
        WEIGHTS,
        compute_cost,
        describe,
        load_weights,
        measured_efficiency,
        summarise,
    )
    from stages.training.plan import plan_training

    if settings.infrastructure.launcher != "local":
        raise InputError(
            f"params.yaml: infrastructure.launcher must be local, "
            f"got {settings.infrastructure.launcher}"
        )
    num_workers = scaling.num_workers
    plan = plan_training(ingest, cases, budget, chosen, settings, num_workers)
    if not plan.train_cases:
        raise InputError("training needs at least one case in the split 'train', got 0")
    plan.checkpoint_folder.mkdir(parents=True, exist_ok=True)
    order = WorkerOrder(
        num_workers=num_workers,
        outcome=str(plan.checkpoint_folder / "outcome.json"),
        failures=str(plan.checkpoint_folder),
    )
    order_file = plan.checkpoint_folder / "order.json"
    write_text(order_file, order.model_dump_json())
    launch(
        "stages.train_distributed",
        ("--worker", str(order_file)),
        num_workers,
        failure_folder=plan.checkpoint_folder,
        time_limit_s=_time_limit_s(budget),
    )
    outcome = WorkerOutcome.model_validate_json(Path(order.outcome).read_text("utf-8"))
    workload, shape, job = plan.setup.workload, plan.setup.shape, plan.setup.job
    model = load_weights(workload.make_model(shape), folder(STAGE)).to(job.device)
    read_one = partial(read_case, label_map=ingest.label_map)
    metrics = evaluate(workload, model, plan.validation_cases, read_one, shape, job.device)
    validation = summarise(metrics, plan.validation_cases)
    efficiency = measured_efficiency(budget.step_time_ms, outcome.step_time_ms, num_workers)
    shutil.rmtree(plan.checkpoint_folder, ignore_errors=True)
    told = f"{efficiency.value:.0%}" if efficiency.value is not None else "unknown"
    return TrainingResult(
        stage=STAGE,
        next=Stage.produce_model,
        reason=f"{job.num_steps} steps in {outcome.training_s:.0f} s by {num_workers} workers"
        f", efficiency {told}: {describe(validation)} "
        f"on {len(plan.validation_cases)} validation cases.",
        weights=WEIGHTS,
        num_workers=num_workers,
        num_steps=job.num_steps,
        training_s=outcome.training_s,
        step_time_ms=outcome.step_time_ms,
        peak_memory_bytes=known(outcome.peak_memory_bytes),
        compute_cost=compute_cost(
            outcome.training_s, settings.infrastructure.device_price_per_hour, num_workers
        ),
        validation=validation,
        final_loss=known(outcome.final_loss),
        efficiency=efficiency,
        forecast_efficiency=scaling.forecast_efficiency,
        resumed_from_step=outcome.resumed_from_step,
        micro_batch_size=job.micro_batch_size,
    )


def work(order: WorkerOrder, settings: Settings) -> None:
    """One worker of the launch: train its part; the first one writes curve, weights and outcome."""
    from dataclasses import replace
    from functools import partial

    from stages.imaging.reading import read_case
    from stages.training.curve import CURVES, CurveFile, ignore_row
    from stages.training.distributed import joined_team, largest_over_workers
    from stages.training.loop import train
    from stages.training.memory import peak_memory_bytes
    from stages.training.outcome import save_weights, step_time
    from stages.training.plan import plan_training

    ingest = read(Stage.ingest_data, IngestResult)
    plan = plan_training(
        ingest,
        read_manifest(),
        read(Stage.probe_budget, BudgetResult),
        chosen_implementation(),
        settings,
        order.num_workers,
    )
    read_one = partial(read_case, label_map=ingest.label_map)
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
            CurveFile(folder(STAGE) / CURVES) if team.rank == 0 else ignore_row,
            team,
        )
        memory = largest_over_workers(peak_memory_bytes(device), device)
    if team.rank == 0:
        save_weights(trained.model, folder(STAGE))
        outcome = WorkerOutcome(
            training_s=trained.training_s,
            step_time_ms=step_time(trained.curve),
            final_loss=trained.final_loss,
            resumed_from_step=trained.resumed_from_step,
            peak_memory_bytes=int(memory),
        )
        write_text(Path(order.outcome), outcome.model_dump_json())


def run(settings: Settings) -> TrainingResult:
    """Read what the stage stands on."""
    return train_distributed(
        read(Stage.ingest_data, IngestResult),
        read_manifest(),
        read(Stage.probe_budget, BudgetResult),
        read(Stage.probe_scaling, ScalingResult),
        chosen_implementation(),
        settings,
    )


def run_worker(order_file: Path) -> None:
    """What torchrun starts: `python -m stages.train_distributed --worker FILE`."""
    from stages.training.failures import failures_told

    order = WorkerOrder.model_validate_json(order_file.read_text("utf-8"))
    with failures_told(Path(order.failures)):
        work(order, load_settings(STAGE))


def _time_limit_s(budget: BudgetResult) -> float:
    """Enough for a job several times slower than its forecast, and for the start."""
    hours = budget.job_hours.value
    return max(SHORTEST_TIME_LIMIT_S, TIME_LIMIT_FACTOR * 3600 * (hours or 0.0))


def main() -> None:
    match sys.argv[1:]:
        case ["--worker", order_file]:
            run_worker(Path(order_file))
        case _:
            execute(STAGE, run)


if __name__ == "__main__":
    main()
