"""After the record: the parent's summary, the model's registration, and Prefect's artifacts."""

from collections.abc import Mapping

from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.logging import get_run_logger

from flows.collect import Collection, How
from flows.last_run import keep_last_run
from flows.model_registry import last_run, register_present
from flows.present import remember_collected, results_digest
from stages.contract import DecisionResult, Figure, Stage, folder, read


def publish(collection: Collection, done: Mapping[Stage, How]) -> None:
    """Make a finished run known everywhere.

    Raises:
        ModelRefusedError: the model does not load in a fresh process.
    """
    record = read(Stage.record_decision, DecisionResult)
    collection.summarise(results_digest())
    try:
        _show_in_prefect(record, done)
    except Exception as error:  # a page for people is missing then, and nothing else
        get_run_logger().warning(f"not shown in Prefect: {error}")
    model = register_present(collection.store, collection.run_of(Stage.produce_model))
    keep_last_run(last_run(collection.store, collection.parent, model))
    remember_collected()


def _show_in_prefect(record: DecisionResult, done: Mapping[Stage, How]) -> None:
    page = folder(Stage.record_decision) / "decision.md"
    create_markdown_artifact(
        page.read_text("utf-8") if page.is_file() else record.headline,
        key="decision-record",
        description=record.headline,
    )
    create_table_artifact(
        [
            {
                "node": summary.node,
                "stage": str(summary.stage),
                "result": "passed by" if not summary.was_taken else done.get(summary.stage, ""),
                "verdict": summary.verdict or "",
                "reason": summary.reason,
            }
            for summary in record.stages
        ],
        key="stages",
        description=record.nodes,
    )
    create_table_artifact(
        [{"figure": name, **_columns(figure)} for name, figure in record.figures.items()],
        key="figures",
        description="The figures by which runs are compared",
    )


def _columns(figure: Figure) -> dict[str, float | str | None]:
    return {
        "value": "unknown" if figure.value is None else figure.value,
        "low": figure.low,
        "high": figure.high,
        "why unknown": figure.reason or "",
    }
