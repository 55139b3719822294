"""Everything that the stages found out, in one place: None is a stage that was passed by."""

from dataclasses import dataclass

from stages.contract import (
    BudgetResult,
    BuildResult,
    EmbedResult,
    EnvironmentResult,
    Implementation,
    IngestResult,
    ModelResult,
    NumericsResult,
    PilotResult,
    Result,
    Rung,
    ScalingResult,
    Stage,
    SupportResult,
    TrainingResult,
    ValidationResult,
    read,
    read_if_taken,
)


@dataclass(frozen=True)
class Evidence:
    """The results of one run."""

    environment: EnvironmentResult
    ingest: IngestResult
    validation: ValidationResult
    support: SupportResult
    pilot: PilotResult | None = None
    build: BuildResult | None = None
    numerics: NumericsResult | None = None
    embed: EmbedResult | None = None
    budget: BudgetResult | None = None
    scaling: ScalingResult | None = None
    single: TrainingResult | None = None
    distributed: TrainingResult | None = None
    model: ModelResult | None = None

    @property
    def by_stage(self) -> dict[Stage, Result | None]:
        """Results in graph order, but for the record itself."""
        return {
            Stage.environment: self.environment,
            Stage.ingest_data: self.ingest,
            Stage.validate_data: self.validation,
            Stage.check_support: self.support,
            Stage.pilot_accuracy: self.pilot,
            Stage.build_operator: self.build,
            Stage.validate_numerics: self.numerics,
            Stage.embed_operator: self.embed,
            Stage.probe_budget: self.budget,
            Stage.probe_scaling: self.scaling,
            Stage.train_single: self.single,
            Stage.train_distributed: self.distributed,
            Stage.produce_model: self.model,
        }

    @property
    def training(self) -> TrainingResult | None:
        """Whichever training took place."""
        return self.distributed or self.single

    @property
    def implementation(self) -> Implementation:
        """What the path carried on with: the last word of the stages that were taken."""
        last = self.embed or self.numerics or self.build or self.pilot or self.support
        return last.implementation

    @property
    def is_custom(self) -> bool:
        """Whether the custom operator is in the product."""
        return self.implementation.rung is Rung.custom

    @property
    def was_refused(self) -> bool:
        """Whether a custom operator was tried and did not make it."""
        return self.build is not None and not self.is_custom


@dataclass(frozen=True)
class Terms:
    """The thresholds that the decision was made under."""

    accuracy_metric: str
    accuracy_target: float
    latency_budget_ms: float
    training_hours_budget: float
    compute_budget: float
    currency: str
    economics_are_examples: bool
    horizon_months: int
    operator: str
    max_workers: int


def read_evidence() -> Evidence:
    """Read the result of every stage.

    Raises:
        InputError: a stage has no result at all.
    """
    return Evidence(
        environment=read(Stage.environment, EnvironmentResult),
        ingest=read(Stage.ingest_data, IngestResult),
        validation=read(Stage.validate_data, ValidationResult),
        support=read(Stage.check_support, SupportResult),
        pilot=read_if_taken(Stage.pilot_accuracy, PilotResult),
        build=read_if_taken(Stage.build_operator, BuildResult),
        numerics=read_if_taken(Stage.validate_numerics, NumericsResult),
        embed=read_if_taken(Stage.embed_operator, EmbedResult),
        budget=read_if_taken(Stage.probe_budget, BudgetResult),
        scaling=read_if_taken(Stage.probe_scaling, ScalingResult),
        single=read_if_taken(Stage.train_single, TrainingResult),
        distributed=read_if_taken(Stage.train_distributed, TrainingResult),
        model=read_if_taken(Stage.produce_model, ModelResult),
    )
