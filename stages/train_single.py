"""Nodes C and F: train on one machine, in one process."""

from collections.abc import Sequence

from stages.contract import (
    BudgetResult,
    Case,
    Implementation,
    IngestResult,
    Settings,
    Stage,
    TrainingResult,
    chosen_implementation,
    execute,
    folder,
    known,
    read,
    read_manifest,
    unknown,
)

STAGE = Stage.train_single


def train_single(
    ingest: IngestResult,
    cases: Sequence[Case],
    budget: BudgetResult,
    chosen: Implementation,
    settings: Settings,
) -> TrainingResult:
    """Train the job, resuming what an earlier attempt left, and measure it on the validation cases.

    Writes `weights.pt` and `curves.jsonl` to the stage's folder.

    Raises:
        InputError: no training cases, or the loss is no longer finite.
    """
    import shutil
    from functools import partial

    from stages.imaging.reading import read_case
    from stages.training.curve import CURVES, CurveFile
    from stages.training.evaluate import evaluate
    from stages.training.loop import train
    from stages.training.memory import peak_memory_bytes
    from stages.training.outcome import compute_cost, describe, save_weights, step_time, summarise
    from stages.training.plan import plan_training

    plan = plan_training(ingest, cases, budget, chosen, settings)
    workload, shape, job = plan.setup.workload, plan.setup.shape, plan.setup.job
    read_one = partial(read_case, label_map=ingest.label_map)
    samples = workload.make_samples(plan.train_cases, read_one, shape)
    on_step = CurveFile(folder(STAGE) / CURVES)
    trained = train(
        workload, plan.setup.operators, samples, shape, job, plan.checkpoint_folder, on_step
    )
    memory = peak_memory_bytes(job.device)
    metrics = evaluate(workload, trained.model, plan.validation_cases, read_one, shape, job.device)
    validation = summarise(metrics, plan.validation_cases)
    weights = save_weights(trained.model, folder(STAGE))
    shutil.rmtree(plan.checkpoint_folder, ignore_errors=True)
    return TrainingResult(
        stage=STAGE,
        next=Stage.produce_model,
        reason=f"{job.num_steps} steps in {trained.training_s:.0f} s on one worker: "
        f"{describe(validation)} on {len(plan.validation_cases)} validation cases.",
        weights=weights,
        num_workers=1,
        num_steps=job.num_steps,
        training_s=trained.training_s,
        step_time_ms=step_time(trained.curve),
        peak_memory_bytes=known(memory),
        compute_cost=compute_cost(
            trained.training_s, settings.infrastructure.device_price_per_hour, num_workers=1
        ),
        validation=validation,
        final_loss=known(trained.final_loss),
        efficiency=unknown("trained by one worker"),
        forecast_efficiency=unknown("trained by one worker"),
        resumed_from_step=trained.resumed_from_step,
        micro_batch_size=job.micro_batch_size,
    )


def run(settings: Settings) -> TrainingResult:
    """Read what the stage stands on."""
    return train_single(
        read(Stage.ingest_data, IngestResult),
        read_manifest(),
        read(Stage.probe_budget, BudgetResult),
        chosen_implementation(),
        settings,
    )


def main() -> None:
    execute(STAGE, run)


if __name__ == "__main__":
    main()
