"""What passes between a stage and the workers that it starts: an order, and what came of it."""

from pathlib import Path

from stages.contract import Figure, Frozen, write_text
from stages.training.launch import launch

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


def order_training(
    module: str, exchange: Path, num_workers: int, job_hours: Figure
) -> WorkerOutcome:
    """Start `module --worker ORDER` on each worker, wait, and read the outcome.

    Order, outcome and failures are kept in the folder `exchange`. The time limit leaves room for a
    job several times slower than forecast, and for the start.

    Raises:
        LaunchError: the workers failed; the first cause is named.
    """
    outcome, order_file = exchange / "outcome.json", exchange / "order.json"
    order = WorkerOrder(num_workers=num_workers, outcome=str(outcome), failures=str(exchange))
    exchange.mkdir(parents=True, exist_ok=True)
    write_text(order_file, order.model_dump_json())
    forecast_s = 3600 * (job_hours.value or 0.0)
    launch(
        module,
        ("--worker", str(order_file)),
        num_workers,
        failure_folder=exchange,
        time_limit_s=max(SHORTEST_TIME_LIMIT_S, TIME_LIMIT_FACTOR * forecast_s),
    )
    return WorkerOutcome.model_validate_json(outcome.read_text("utf-8"))
