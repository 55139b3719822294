"""Node P: does the operator's logic lift accuracy, in slow form, at small scale?"""

from collections.abc import Sequence

from stages.contract import (
    Case,
    Implementation,
    IngestResult,
    InputError,
    Operators,
    PilotResult,
    Rung,
    Settings,
    Stage,
    SupportResult,
    execute,
    folder,
    read,
    read_manifest,
)

STAGE = Stage.pilot_accuracy
WITHOUT, WITH = "without the logic", "with the logic"


def pilot_accuracy(
    ingest: IngestResult, cases: Sequence[Case], support: SupportResult, settings: Settings
) -> PilotResult:
    """Train both arms with equal budgets and paired seeds, and compare them on held-out patients.

    Raises:
        InputError: the operator does not act on the training step, the workload lacks the metric,
        or no
            case is held out.
    """
    import shutil
    from functools import partial
    from pathlib import Path

    from stages.contract import SCRATCH, derive_data_shape, load_workload, route
    from stages.imaging.reading import read_case
    from stages.rules.pilot import CHEAPER, carry_on_with, judge_lift, propose_next, tell_pilot
    from stages.training.curve import CURVES
    from stages.training.evaluate import evaluate
    from stages.training.fingerprint import digest_files, fingerprint
    from stages.training.intervals import lift_over_patients
    from stages.training.job import Job
    from stages.training.pilot import ArmCurves, Trial, held_out, paired_differences, run_arm

    if support.context != "training_step":
        raise InputError(
            f"{settings.algorithm.operator}: expected an operator of the training step, got one of "
            f"the {support.context} that claims accuracy; a pilot whose arms differ in the report "
            f"is not supported yet: claim latency in its spec.py, or bring it as part of the loss"
        )
    algorithm, training = settings.algorithm, settings.training
    metric = settings.product.accuracy_metric
    shape = derive_data_shape(ingest, settings)
    workload = load_workload(training)
    train_cases = [case for case in cases if case.split == "train"]
    tested = held_out(cases)
    if not tested:
        raise InputError(
            "the pilot needs held-out patients, found no case in the split 'validation'; raise "
            "data.validation_fraction in params.yaml"
        )
    read_one = partial(read_case, label_map=ingest.label_map)
    device = settings.infrastructure.device
    root = SCRATCH / "checkpoints" / STAGE
    trial = Trial(
        workload=workload,
        samples=workload.make_samples(train_cases, read_one, shape),
        shape=shape,
        job=Job(
            num_steps=algorithm.pilot_steps,
            batch_size=training.batch_size,
            micro_batch_size=training.batch_size,
            learning_rate=training.learning_rate,
            seed=training.seed,
            checkpoint_every_steps=algorithm.pilot_steps,
            device=device,
        ),
        num_seeds=algorithm.pilot_seeds,
        checkpoint_root=root,
        evaluate=lambda model: evaluate(workload, model, tested, read_one, shape, device),
        on_step=ArmCurves(folder(STAGE) / CURVES),
    )
    data = fingerprint(
        ingest.data_digest,
        [case.case_id for case in train_cases],
        training.workload,
        digest_files(Path(training.workload_source)),
    )
    operators, form = _slow_form(settings, support)
    baseline = run_arm(trial, WITHOUT, {}, data)
    candidate = run_arm(
        trial, WITH, operators, data + form + digest_files(Path(algorithm.operator))
    )
    if metric not in baseline.by_seed[0]:
        raise InputError(
            f"{training.workload}: score_case must give product.accuracy_metric {metric}, "
            f"got {', '.join(baseline.by_seed[0])}"
        )
    patients = [case.patient for case in tested]
    lift = lift_over_patients(paired_differences(baseline, candidate, metric), patients)
    verdict = judge_lift(lift)
    following, remark = route(
        STAGE,
        verdict,
        propose_next(verdict, support.worth_building),
        CHEAPER,
        settings.product.verdicts_needing_approval,
    )
    shutil.rmtree(root, ignore_errors=True)
    return PilotResult(
        stage=STAGE,
        next=following,
        reason=tell_pilot(metric, lift, verdict, support.worth_building) + remark,
        verdict=verdict,
        metric=metric,
        arms=(baseline.summary(), candidate.summary()),
        lift=lift,
        num_steps=algorithm.pilot_steps,
        num_seeds=algorithm.pilot_seeds,
        num_patients_held_out=len(set(patients)),
        implementation=carry_on_with(verdict, following, support.implementation),
    )


def _slow_form(settings: Settings, support: SupportResult) -> tuple[Operators, str]:
    """The logic before any kernel: a standard composition, else the reference; and its name."""
    from stages.contract import open_chosen, operators_for

    operator = open_chosen(settings.algorithm.operator)
    compositions = [composition.name for composition in operator.compositions]
    if not compositions:
        return {operator.spec.name: operator.reference}, "reference"
    chosen = support.implementation.name
    name = chosen if chosen in compositions else compositions[0]
    return operators_for(operator, Implementation(rung=Rung.standard, name=name)), name


def run(settings: Settings) -> PilotResult:
    """Read what the stage stands on."""
    return pilot_accuracy(
        read(Stage.ingest_data, IngestResult),
        read_manifest(),
        read(Stage.check_support, SupportResult),
        settings,
    )


def main() -> None:
    execute(STAGE, run)


if __name__ == "__main__":
    main()
