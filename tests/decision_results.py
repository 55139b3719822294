"""Results built by hand for the record's tests: one set for each way through the graph."""

from stages.contract import (
    Arm,
    BudgetResult,
    BudgetVerdict,
    BuildResult,
    BuildVerdict,
    Candidate,
    Economics,
    EmbedResult,
    EmbedVerdict,
    EnvironmentResult,
    ErrorAtSize,
    Implementation,
    IngestResult,
    ModelResult,
    ModelVerdict,
    NotTaken,
    NumericsCheck,
    NumericsResult,
    NumericsVerdict,
    PilotResult,
    PilotVerdict,
    Result,
    Rung,
    ScalingPoint,
    ScalingResult,
    ScalingVerdict,
    SourceKind,
    Stage,
    SupportResult,
    SupportVerdict,
    Target,
    TrainingResult,
    ValidationResult,
    known,
    unknown,
    write,
)

STANDARD = Implementation(rung=Rung.compiled, name="min_plus")
CUSTOM = Implementation(rung=Rung.custom, name="distance_transform")

ENVIRONMENT = EnvironmentResult(
    stage=Stage.environment,
    reason="2 cores, no GPU.",
    cpu_model="Test CPU",
    num_cores=2,
    instruction_sets=("avx2",),
    memory_bytes=24 * 2**30,
    gpus=(),
    operating_system="Linux",
    python_version="3.11.9",
    compiler="g++ 12.2.0",
    versions={"torch": "2.13.0", "monai": "1.6.1"},
)
INGEST = IngestResult(
    stage=Stage.ingest_data,
    reason="24 cases of 24 patients.",
    name="phantom",
    kind=SourceKind.phantom,
    source="data/phantom.yaml",
    num_cases=24,
    num_patients=24,
    num_spatial_dims=3,
    channel_names=("t1",),
    label_names=("background", "lesion"),
    largest_shape=(64, 80, 64),
    median_shape=(64, 80, 64),
    median_spacing_mm=(2.8, 2.7, 2.8),
    data_digest="d1ge57" * 10,
    num_train=14,
    num_validation=5,
    num_test=5,
)
VALIDATION = ValidationResult(
    stage=Stage.validate_data,
    reason="Accepted: 0 violations.",
    is_accepted=True,
    findings=(),
    num_expectations=12,
    data_docs=None,
)


def candidate(
    name: str,
    rung: Rung,
    own_ms: float,
    whole_ms: float,
    because: str | None = None,
    note: str | None = None,
) -> Candidate:
    """One implementation that is right."""
    return Candidate(
        name=name,
        rung=rung,
        is_right=True,
        largest_error=known(1e-7),
        is_differentiable=False,
        is_exportable=because is None,
        qualifies=because is None,
        disqualified_because=because,
        time_ms=known(own_ms, own_ms * 0.9, own_ms * 1.1, 9),
        end_to_end_ms=known(whole_ms, whole_ms * 0.9, whole_ms * 1.1, 9),
        p95_ms=known(whole_ms * 1.05, num_samples=9),
        note=note,
    )


def support(
    verdict: SupportVerdict, next_stage: Stage, is_valued: bool = True, are_examples: bool = True
) -> SupportResult:
    """B, with two compositions and a library that may not serve."""
    nobody = unknown("nobody has valued the target")
    return SupportResult(
        stage=Stage.check_support,
        next=next_stage,
        reason="The best standard form takes 612 ms of 400 ms.",
        verdict=verdict,
        operator="distance_transform",
        context="inference_graph",
        claim="latency",
        input_shape=(182, 218, 182),
        candidates=(
            candidate("running_minimum", Rung.standard, 3880, 4100),
            candidate("min_plus", Rung.standard, 5000, 5200),
            candidate("min_plus", Rung.compiled, 374, 612, note="compiled in 7.1 s"),
            candidate(
                "scipy",
                Rung.library,
                943,
                1180,
                because="a NumPy round trip cannot be exported",
                note="BSD-3-Clause, scipy 1.17.0",
            ),
        ),
        rest_ms=known(238),
        baseline_ms=known(612, 590, 640, 9),
        target_ms=known(400),
        share=known(0.61, 0.58, 0.64),
        ceiling=known(2.57, 2.4, 2.8),
        floor_ms=known(4),
        forecast_operator_ms=known(40),
        forecast_gain=known(2.2),
        economics=Economics(
            currency="EUR",
            are_examples=are_examples,
            horizon_months=24,
            cost=known(25_000, 18_000, 34_000),
            benefit=known(72_000, 70_000, 74_000) if is_valued else nobody,
            benefit_cost_ratio=known(2.9, 2.1, 4.0) if is_valued else nobody,
            payback_probability=known(0.99) if is_valued else nobody,
            break_even_days=known(62) if is_valued else nobody,
            break_even_value_per_month=known(1040),
            sentence="Pays if built in at most 62 days, or if worth at least 1,040 EUR a month.",
        ),
        implementation=STANDARD,
        worth_building=verdict is SupportVerdict.build,
        measurement_cv=known(0.04),
    )


def pilot(verdict: PilotVerdict, lift: float) -> PilotResult:
    """B, tried out in slow form: two seeds, and what follows is the cheaper way."""
    lifts = verdict is PilotVerdict.lifts
    nothing = Implementation(rung=Rung.none, name="")
    return PilotResult(
        stage=Stage.pilot_accuracy,
        next=Stage.probe_budget,
        reason="Two seeds, five patients.",
        verdict=verdict,
        metric="lesion_f1",
        arms=(
            Arm(name="without", lesion_f1=(0.5, 0.52), dice=(0.7, 0.7), lesion_recall=(0.5, 0.5)),
            Arm(name="with", lesion_f1=(0.6, 0.6), dice=(0.7, 0.7), lesion_recall=(0.6, 0.6)),
        ),
        lift=known(lift, lift - 0.02, lift + 0.02),
        num_steps=60,
        num_seeds=2,
        num_patients_held_out=5,
        implementation=STANDARD if lifts else nothing,
    )


def build(verdict: BuildVerdict = BuildVerdict.built) -> BuildResult:
    """D, compiled, or not."""
    is_built = verdict is BuildVerdict.built
    return BuildResult(
        stage=Stage.build_operator,
        next=Stage.validate_numerics if is_built else Stage.probe_budget,
        reason="Built in 2.0 s." if is_built else "The compiler refused csrc/x.cpp.",
        verdict=verdict,
        form="compiled",
        library="distance_transform.so" if is_built else None,
        library_hash="ab" * 32 if is_built else None,
        build_s=known(2.0),
        compiler="g++ 12.2.0",
        undefined_symbols=(),
        error=None if is_built else "x.cpp:3:1: error: expected ';' | and a <bracket>",
        implementation=CUSTOM if is_built else STANDARD,
    )


def numerics(verdict: NumericsVerdict = NumericsVerdict.accepted) -> NumericsResult:
    """D, right or wrong."""
    is_right = verdict is NumericsVerdict.accepted
    return NumericsResult(
        stage=Stage.validate_numerics,
        next=Stage.embed_operator if is_right else Stage.probe_budget,
        reason="2 of 2 checks passed." if is_right else "Values: case one_voxel is off by 3.",
        verdict=verdict,
        checks=(
            NumericsCheck(
                name="values",
                passed=is_right,
                num_cases=40,
                largest_error=known(1e-7 if is_right else 3.0),
                detail="all cases" if is_right else "smallest failing case one_voxel",
                counter_example=None if is_right else "import torch\nx(torch.full((1, 1), 1))",
                growth=(
                    ErrorAtSize(num_elements=64, error=1e-8, envelope=3e-8),
                    ErrorAtSize(num_elements=4096, error=2e-8, envelope=5e-8),
                ),
            ),
            NumericsCheck(
                name="determinism",
                passed=True,
                num_cases=40,
                largest_error=unknown("equality is asked for, not an error"),
                detail="all cases",
            ),
        ),
        implementation=CUSTOM if is_right else STANDARD,
    )


EMBED = EmbedResult(
    stage=Stage.embed_operator,
    next=Stage.probe_budget,
    reason="612 ms become 275 ms.",
    verdict=EmbedVerdict.embedded,
    compiles_fullgraph=True,
    is_exportable=True,
    baseline_ms=known(612, 590, 640, 9),
    embedded_ms=known(275, 265, 290, 9),
    operator_ms=known(37, 35, 40, 9),
    realised_gain=known(2.23, 2.1, 2.4),
    forecast_gain=known(2.2),
    forecast_error=known(-0.013),
    findings=(),
    implementation=CUSTOM,
)


def budget(verdict: BudgetVerdict = BudgetVerdict.within, fits: bool = True) -> BudgetResult:
    """G, within its budget or not."""
    not_run = unknown("nothing was run: the smallest micro batch does not fit")
    is_over = verdict is BudgetVerdict.over
    return BudgetResult(
        stage=Stage.probe_budget,
        next=Stage.probe_scaling if is_over else Stage.train_single,
        reason="Over budget: it does not fit." if is_over else "Within every budget.",
        verdict=verdict,
        forecast_memory_bytes=known(300 * 2**20),
        measured_memory_bytes=known(320 * 2**20) if fits else not_run,
        memory_forecast_error=known(-0.0625) if fits else not_run,
        memory_budget_bytes=16 * 2**30,
        state_bytes=known(40 * 2**20),
        step_time_ms=known(400, 380, 420, 6) if fits else not_run,
        num_steps=150,
        job_hours=known(0.0167) if fits else not_run,
        budget_hours=1.0,
        job_cost=known(0.0067) if fits else not_run,
        currency="EUR",
        remedy=None,
        micro_batch_size=2,
        fits_memory=fits,
    )


def scaling(verdict: ScalingVerdict) -> ScalingResult:
    """G, distributed or impossible."""
    is_possible = verdict is not ScalingVerdict.impossible
    not_run = unknown("no process was started: it fits nowhere")
    return ScalingResult(
        stage=Stage.probe_scaling,
        next={
            ScalingVerdict.distribute: Stage.train_distributed,
            ScalingVerdict.impossible: Stage.record_decision,
        }.get(verdict, Stage.train_single),
        reason="2 workers reach 1.6." if is_possible else "It needs 40 GiB, a device has 16 GiB.",
        verdict=verdict,
        compute_ms=known(330) if is_possible else not_run,
        exposed_communication_ms=known(50) if is_possible else not_run,
        skew_ms=known(12) if is_possible else not_run,
        latency_us=known(150) if is_possible else not_run,
        bandwidth_mbit_s=known(8000) if is_possible else not_run,
        points=(
            ScalingPoint(
                num_workers=2,
                where="this machine",
                is_measured=True,
                step_time_ms=known(250),
                speedup=known(1.6, 1.5, 1.7),
                efficiency=known(0.8),
                job_hours=known(0.9),
                job_cost=known(0.7),
            ),
        )
        if is_possible
        else (),
        num_workers=2 if verdict is ScalingVerdict.distribute else 1,
        forecast_efficiency=known(0.8) if is_possible else not_run,
    )


def training(stage: Stage, num_workers: int = 1) -> TrainingResult:
    """F or H."""
    several = num_workers > 1
    return TrainingResult(
        stage=stage,
        next=Stage.produce_model,
        reason="150 steps.",
        weights="weights.pt",
        num_workers=num_workers,
        num_steps=150,
        training_s=63.0,
        step_time_ms=known(410, 400, 425, 150),
        peak_memory_bytes=known(350 * 2**20),
        compute_cost=known(0.007),
        validation={"dice": known(0.7)},
        final_loss=known(0.3),
        efficiency=known(0.78) if several else unknown("trained on one worker"),
        forecast_efficiency=known(0.8) if several else unknown("trained on one worker"),
        resumed_from_step=None,
        micro_batch_size=2,
    )


def model(verdict: ModelVerdict = ModelVerdict.met) -> ModelResult:
    """I."""
    is_met = verdict is ModelVerdict.met
    return ModelResult(
        stage=Stage.produce_model,
        next=Stage.record_decision,
        reason="dice 0.71 of 0.6.",
        verdict=verdict,
        files=("package/graph.pt2",),
        content_hash="cd" * 32,
        input_shape=(1, 1, 182, 218, 182),
        accuracy={"dice": known(0.71, 0.66, 0.76, 5)},
        latency_p95_ms=known(290 if is_met else 640, num_samples=27),
        latency_median_ms=known(275 if is_met else 612),
        peak_memory_bytes=known(500 * 2**20),
        targets=(
            Target(
                name="dice",
                wanted=0.6,
                reached=known(0.71),
                unit="",
                is_met=True,
                difference=known(0.11),
            ),
            Target(
                name="latency p95",
                wanted=400,
                reached=known(290 if is_met else 640),
                unit="ms",
                is_met=is_met,
                difference=known(-110 if is_met else 240),
            ),
        ),
        num_model_lesions=known(14),
    )


ALWAYS: tuple[Result, ...] = (ENVIRONMENT, INGEST, VALIDATION)

PATHS: dict[str, tuple[Result, ...]] = {
    "build": (
        *ALWAYS,
        support(SupportVerdict.build, Stage.build_operator),
        build(),
        numerics(),
        EMBED,
        budget(),
        training(Stage.train_single),
        model(),
    ),
    "standard": (
        *ALWAYS,
        support(SupportVerdict.compiled, Stage.probe_budget, is_valued=False, are_examples=False),
        budget(),
        training(Stage.train_single),
        model(),
    ),
    "no lift": (
        *ALWAYS,
        support(SupportVerdict.inconclusive, Stage.pilot_accuracy),
        pilot(PilotVerdict.no_lift, 0.0),
        budget(),
        training(Stage.train_single),
        model(),
    ),
    "lift without a kernel": (
        *ALWAYS,
        support(SupportVerdict.not_worth_it, Stage.pilot_accuracy),
        pilot(PilotVerdict.lifts, 0.09),
        budget(BudgetVerdict.over),
        scaling(ScalingVerdict.refuse),
        training(Stage.train_single),
        model(),
    ),
    "embedding refused": (
        *ALWAYS,
        support(SupportVerdict.build, Stage.build_operator),
        build(),
        numerics(),
        EMBED.model_copy(update={"verdict": EmbedVerdict.rejected, "implementation": STANDARD}),
        budget(),
        training(Stage.train_single),
        model(),
    ),
    "refused": (
        *ALWAYS,
        support(SupportVerdict.build, Stage.build_operator),
        build(),
        numerics(NumericsVerdict.rejected),
        budget(),
        training(Stage.train_single),
        model(ModelVerdict.missed),
    ),
    "failed build": (
        *ALWAYS,
        support(SupportVerdict.build, Stage.build_operator),
        build(BuildVerdict.failed),
        budget(),
        training(Stage.train_single),
        model(ModelVerdict.missed),
    ),
    "distributed": (
        *ALWAYS,
        support(SupportVerdict.not_worth_it, Stage.probe_budget),
        budget(BudgetVerdict.over),
        scaling(ScalingVerdict.distribute),
        training(Stage.train_distributed, 2),
        model(),
    ),
    "impossible": (
        *ALWAYS,
        support(SupportVerdict.standard, Stage.probe_budget),
        budget(BudgetVerdict.over, fits=False),
        scaling(ScalingVerdict.impossible),
    ),
}


def write_results(path: str) -> None:
    """Write one set into `reports/` of the working folder, the rest as not taken."""
    results = {result.stage: result for result in PATHS[path]}
    for stage in Stage:
        if stage is not Stage.record_decision:
            write(results.get(stage) or NotTaken(stage=stage, reason="no upstream result names it"))
