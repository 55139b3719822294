"""Results of nodes B, D and E: is a custom operator needed, right, and worth it?"""

from typing import Literal

from stages.contract.figures import Figure, unknown
from stages.contract.frozen import Frozen
from stages.contract.results import (
    BuildStatus,
    BuildVerdict,
    EmbedVerdict,
    Implementation,
    NumericsVerdict,
    PilotVerdict,
    Result,
    Rung,
    SupportVerdict,
)


class Candidate(Frozen):
    """One implementation of the operator, and everything that was found out about it."""

    name: str
    rung: Rung
    is_right: bool | None
    """Agrees with the float64 reference on every named case; None when it could not be run."""
    largest_error: Figure
    is_differentiable: bool | None
    is_exportable: bool | None
    """Whether a module that calls it passes `torch.export` and gives the same result."""
    qualifies: bool
    """Whether it may serve in this context and deployment."""
    disqualified_because: str | None
    time_ms: Figure
    """The operator alone, at the real job's size."""
    end_to_end_ms: Figure
    """The inference graph or the training step with this implementation inside."""
    p95_ms: Figure = unknown("not measured")
    """95th percentile of the same: what a latency budget is held against."""
    note: str | None = None
    """What else there is to know: time to compile, version and licence, why it could not be run."""


class Economics(Frozen):
    """Cost against benefit over the horizon, in one currency."""

    currency: str
    are_examples: bool
    """Whether the prices are the repository's examples rather than the product's own."""
    horizon_months: int
    cost: Figure
    benefit: Figure
    benefit_cost_ratio: Figure
    payback_probability: Figure
    break_even_days: Figure
    """Most person-days that the build may take before it no longer pays."""
    break_even_value_per_month: Figure
    """Least value per month of meeting the target at which the likely build pays."""
    sentence: str


class SupportResult(Result):
    """B: the evidence ladder and its verdict."""

    verdict: SupportVerdict
    operator: str
    context: Literal["inference_graph", "training_step"]
    claim: Literal["latency", "accuracy"]
    input_shape: tuple[int, ...]
    """Shape of the operator's first argument in the real job."""
    candidates: tuple[Candidate, ...]
    rest_ms: Figure
    """End to end without the operator, by substitution."""
    baseline_ms: Figure
    """End to end with the best qualifying standard implementation."""
    target_ms: Figure
    """Budget for the same; unknown when none was set."""
    share: Figure
    """Share of the operator in the baseline, 0..1."""
    ceiling: Figure
    """Largest end-to-end gain that any kernel could reach, 1 / (1 - share)."""
    floor_ms: Figure
    """Roofline time of the operator: least bytes at the measured bandwidth."""
    forecast_operator_ms: Figure
    forecast_gain: Figure
    """Expected end-to-end gain of a kernel over the baseline, made before anything is built."""
    economics: Economics
    implementation: Implementation
    """What the path carries on with unless a later stage replaces it."""
    worth_building: bool
    """Whether a kernel would be built if accuracy, where it is claimed, is lifted."""
    measurement_cv: Figure
    """Coefficient of variation of the baseline's timing: the noise of this machine."""
    waiting: Figure = unknown("not measured")
    """Share of the measuring time, 0..1, in which other processes held the processor."""


class Arm(Frozen):
    """One arm of the pilot: metrics for each seed, averaged over the held-out patients."""

    name: str
    lesion_f1: tuple[float, ...]
    dice: tuple[float, ...]
    lesion_recall: tuple[float, ...]


class PilotResult(Result):
    """B: does the special logic lift accuracy at small scale, in slow reference form?"""

    verdict: PilotVerdict
    metric: str
    arms: tuple[Arm, ...]
    """Baseline first, then the arm with the operator's logic; same seeds, same budget."""
    lift: Figure
    """Difference in the metric, with - without, paired over seeds and held-out cases."""
    num_steps: int
    num_seeds: int
    num_patients_held_out: int
    implementation: Implementation


class DeviceBuild(Frozen):
    """D: the operator's code for one kind of device."""

    device: Literal["cpu", "cuda"]
    status: BuildStatus
    detail: str
    """What it was compiled for and how long that took; the errors; or why it was not tried."""
    is_in_library: bool = False
    """A torch without CUDA leaves CUDA code compiled and not linked."""
    compiler: str | None = None
    num_warnings: int | None = None
    """None where it was not compiled to the end."""
    errors: tuple[str, ...] = ()
    """What the compiler said, with file and line."""


class BuildResult(Result):
    """D: the compiled library."""

    verdict: BuildVerdict
    form: Literal["compiled", "python"]
    library: str | None
    """File name in `reports/build_operator/`; None for an operator in Python or a failed build."""
    library_hash: str | None
    build_s: Figure
    compiler: str | None
    devices: tuple[DeviceBuild, ...] = ()
    """CPU, then CUDA; none for an operator in Python."""
    undefined_symbols: tuple[str, ...]
    """Undefined at:: or c10:: symbols: each ties the binary to one torch version."""
    error: str | None
    """Why there is no library for the job's device: the errors, and where the log lies."""
    implementation: Implementation


class ErrorAtSize(Frozen):
    """The operator's error on one call, beside that of the standard form."""

    num_elements: int
    error: float
    """Largest |result - truth| / max(1, |truth|)."""
    envelope: float
    """The same of the standard form, the largest over several orders of its sums."""


class NumericsCheck(Frozen):
    """One check of the operator, over all of its cases."""

    name: str
    passed: bool
    num_cases: int
    largest_error: Figure
    detail: str
    """What failed, with the smallest failing case, or what was asked."""
    counter_example: str | None = None
    """Python that shows the fault when it is pasted into a prompt."""
    seconds: float = 0.0
    growth: tuple[ErrorAtSize, ...] = ()
    """By size, where the check compares with the standard form's error."""


class NumericsResult(Result):
    """D: accepted only if every check passed."""

    verdict: NumericsVerdict
    checks: tuple[NumericsCheck, ...]
    error_slope: Figure = unknown("not asked")
    """Exponent with which the error grows with the number of elements."""
    envelope_share: Figure = unknown("not asked")
    """Largest error as a share of the standard form's own; at most 2 is accepted."""
    implementation: Implementation


class EmbedResult(Result):
    """E: in the graph, and the promised gain against the real one."""

    verdict: EmbedVerdict
    compiles_fullgraph: bool
    is_exportable: bool
    baseline_ms: Figure
    embedded_ms: Figure
    operator_ms: Figure
    realised_gain: Figure
    forecast_gain: Figure
    forecast_error: Figure
    """(forecast - realised) / realised."""
    report_difference: Figure = unknown("not compared")
    """Largest |with - without| / max(1, |without|) over all that the job returns on the real case:
    what the operator's rounding does to the product."""
    findings: tuple[str, ...]
    implementation: Implementation
