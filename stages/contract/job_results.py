"""Results of nodes G, F, H and I: does the job fit, does distribution pay, and what came out?"""

from stages.contract.figures import Figure, unknown
from stages.contract.frozen import Frozen
from stages.contract.results import BudgetVerdict, ModelVerdict, Result, ScalingVerdict


class BudgetResult(Result):
    """G: peak memory and time of the real job against the budget."""

    verdict: BudgetVerdict
    forecast_memory_bytes: Figure
    """Peak of one training step on fake tensors, before anything ran."""
    measured_memory_bytes: Figure
    """Peak resident set of a real step above the idle process."""
    memory_forecast_error: Figure
    memory_budget_bytes: int
    state_bytes: Figure
    """Parameters, gradients and optimizer state."""
    step_time_ms: Figure
    num_steps: int
    job_hours: Figure
    budget_hours: float
    job_cost: Figure
    currency: str
    remedy: str | None
    """The cheapest measure that brings the job within the budget; None: none needed or known."""
    micro_batch_size: int
    """Samples a forward pass; a batch is accumulated from batch_size / micro_batch_size of them."""
    fits_memory: bool | None


class ScalingPoint(Frozen):
    """The forecast, or for measured workers the measurement, at one number of workers."""

    num_workers: int
    where: str
    """"this machine" or "stated network"."""
    is_measured: bool
    step_time_ms: Figure
    speedup: Figure
    efficiency: Figure
    job_hours: Figure
    job_cost: Figure


class ScalingResult(Result):
    """G: compute, communication, waiting, and speed-up on 1..N workers."""

    verdict: ScalingVerdict
    compute_ms: Figure
    exposed_communication_ms: Figure
    skew_ms: Figure
    latency_us: Figure
    """Alpha of the collective's fit."""
    bandwidth_mbit_s: Figure
    """1 / beta of the collective's fit."""
    points: tuple[ScalingPoint, ...]
    num_workers: int
    """Workers to train on; 1 when distribution is refused."""
    forecast_efficiency: Figure


class TrainingResult(Result):
    """F or H: the trained weights."""

    weights: str
    """File in the stage's folder."""
    num_workers: int
    num_steps: int
    training_s: float
    """Wall time of all steps, resumed parts included."""
    step_time_ms: Figure
    peak_memory_bytes: Figure
    compute_cost: Figure
    validation: dict[str, Figure]
    """Metrics on the validation cases after the last step."""
    final_loss: Figure
    efficiency: Figure
    """Measured: T_1 / (N * T_N) at equal global batch; unknown for one worker."""
    forecast_efficiency: Figure
    resumed_from_step: int | None
    micro_batch_size: int


class Target(Frozen):
    """One target of the product against what the model reached."""

    name: str
    wanted: float
    reached: Figure
    unit: str
    is_met: bool | None
    difference: Figure
    """reached - wanted."""


class ModelResult(Result):
    """I: the packed model and its figures."""

    verdict: ModelVerdict
    files: tuple[str, ...]
    """Files of the package, relative to the stage's folder; the first is the graph."""
    content_hash: str
    """sha256 over the packed files: one registered version each."""
    input_shape: tuple[int, ...]
    """Shape of the example input, (1, C, *spatial)."""
    accuracy: dict[str, Figure]
    """Metrics on the test cases (the validation cases where there are none)."""
    latency_p95_ms: Figure
    latency_median_ms: Figure
    waiting: Figure = unknown("not measured")
    """Share of the timing in which other processes held the processor."""
    peak_memory_bytes: Figure
    targets: tuple[Target, ...]
    num_model_lesions: Figure
    """Lesions reported on the first held-out case."""
