"""What lies in `reports/`: its digest, what of it was executed here, and how it is collected."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from flows.collect import Collection, How
from flows.last_run import keep_last_run
from flows.model_registry import Registered, last_run, register_present
from flows.tracking import Store
from stages.contract import SCRATCH, InputError, Stage, executed_mark, result_path, write_text


@dataclass(frozen=True)
class Collected:
    """What `breakeven collect` came to."""

    run_id: str
    """The parent run."""
    is_new: bool
    """False where the same results were kept before."""
    model: Registered | None


def collect_present(store: Store) -> Collected:
    """Keep the present results and register the model, each once.

    Raises:
        InputError: a stage has no result.
        ModelRefusedError: the model does not load in a fresh process.
    """
    missing = [stage for stage in Stage if not result_path(stage).is_file()]
    if missing:
        raise InputError(
            f"expected results of all stages in {Path.cwd()}/reports, missing "
            f"{', '.join(missing)}: run `dvc repro` or `breakeven run` first"
        )
    kept = _already_kept(store, results_digest())
    parent = _keep(store) if kept is None else kept
    model = register_present(store, _run_of_model(store, parent))
    keep_last_run(last_run(store, parent, model))
    return Collected(parent, kept is None, model)


def _keep(store: Store) -> str:
    collection = Collection(store, "collect")
    try:
        for stage in Stage:
            collection.begin(stage)
            how: How = "executed" if was_executed(stage) else "cached"
            collection.finish(stage, how, curves_are_in=False)
        collection.summarise(results_digest())
    except BaseException:
        collection.close("FAILED")
        raise
    collection.close("FINISHED")
    remember_collected()
    return collection.parent


def results_digest() -> str:
    """sha256 over all results: equal for equal outcomes."""
    digest = hashlib.sha256()
    for stage in Stage:
        digest.update(result_path(stage).read_bytes())
    return digest.hexdigest()


def was_executed(stage: Stage) -> bool:
    """Whether the present result comes from an execution that was not collected yet.

    A result that is older than the mark was restored, with its old time, after that execution.
    """
    mark = executed_mark(stage)
    if not mark.is_file() or mark.stat().st_mtime_ns > result_path(stage).stat().st_mtime_ns:
        return False
    kept = _collected_mark(stage)
    return not kept.is_file() or kept.read_text("utf-8") != mark.read_text("utf-8")


def remember_collected() -> None:
    """From now on the executions up to here count as collected."""
    for stage in Stage:
        if executed_mark(stage).is_file():
            write_text(_collected_mark(stage), executed_mark(stage).read_text("utf-8"))


def _collected_mark(stage: Stage) -> Path:
    return SCRATCH / "collected" / stage


def _already_kept(store: Store, digest: str) -> str | None:
    query = f"tags.`breakeven.results` = '{digest}' AND attributes.status = 'FINISHED'"
    runs = store.client.search_runs([store.experiment_id], query, max_results=1)
    return str(runs[0].info.run_id) if runs else None


def _run_of_model(store: Store, parent: str) -> str:
    query = f"tags.`mlflow.parentRunId` = '{parent}' AND tags.`breakeven.stage` = 'produce_model'"
    return str(store.client.search_runs([store.experiment_id], query)[0].info.run_id)
