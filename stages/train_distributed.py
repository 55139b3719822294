"""Node H: train on several workers, started by torchrun."""

import sys
from collections.abc import Sequence
from pathlib import Path

from stages.contract import (
    BudgetResult,
    Case,
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
    from stages.training.orders import order_training
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
    outcome = order_training(
        "stages.train_distributed", plan.checkpoint_folder, num_workers, budget.job_hours
    )
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
    from functools import partial

    from stages.training.failures import failures_told
    from stages.training.orders import WorkerOrder

    order = WorkerOrder.model_validate_json(order_file.read_text("utf-8"))
    with failures_told(Path(order.failures)):
        from stages.imaging.reading import read_case
        from stages.training.plan import plan_training
        from stages.training.worker import train_as_worker

        ingest = read(Stage.ingest_data, IngestResult)
        plan = plan_training(
            ingest,
            read_manifest(),
            read(Stage.probe_budget, BudgetResult),
            chosen_implementation(),
            load_settings(STAGE),
            order.num_workers,
        )
        read_one = partial(read_case, label_map=ingest.label_map)
        outcome = train_as_worker(plan, read_one, folder(STAGE))
        if outcome is not None:
            write_text(Path(order.outcome), outcome.model_dump_json())


def main() -> None:
    match sys.argv[1:]:
        case ["--worker", order_file]:
            run_worker(Path(order_file))
        case _:
            execute(STAGE, run)


if __name__ == "__main__":
    main()
