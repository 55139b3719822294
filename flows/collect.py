"""Results into MLflow: a run for the whole, a child a stage, a grandchild a candidate."""

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import yaml

from flows.describe import (
    CANDIDATES,
    candidates_of,
    code_tags,
    parameters_of,
    points_of,
    tags_of,
    word,
)
from flows.figures import metric_name, metrics_of, unknowns_of
from flows.tracking import Store, process_tags
from flows.watch import CURVES, read_curves
from stages.contract import PARAMS, Stage, folder, read_raw

How = Literal["executed", "cached"]
RunStatus = Literal["FINISHED", "FAILED", "KILLED"]
_KEPT_SUFFIXES = {".html", ".md", ".csv", ".json", ".jsonl", ".txt", ".svg", ".png", ".css"}
_LARGEST_KEPT_BYTES = 4_000_000
_METRICS_AT_ONCE = 900  # MLflow takes 1000
_ENTRIES_AT_ONCE = 90  # MLflow takes 100 tags, or parameters
_LONGEST_VALUE = 5000


class Collection:
    """One parent run and its children. Paths are relative to the workspace, the current folder."""

    def __init__(self, store: Store, name: str) -> None:
        self.store, self._client = store, store.client
        self._open: list[str] = []
        self._children: dict[Stage, str] = {}
        self.parent = self._begin(name, None, {"breakeven.level": "run", **code_tags()})
        self._log_parameters()

    def begin(self, stage: Stage) -> None:
        """Open the run of a stage."""
        tags = {"breakeven.level": "stage", "breakeven.stage": str(stage)}
        self._children[stage] = self._begin(stage, self.parent, tags)

    def run_of(self, stage: Stage) -> str:
        """The run of a stage that was begun."""
        return self._children[stage]

    def curves(self, stage: Stage, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add rows of a curve to the stage's run."""
        points = [point for row in rows for point in points_of(row)]
        self._log_metrics(self._children[stage], points)

    def finish(self, stage: Stage, how: How, curves_are_in: bool) -> None:
        """Keep the stage's result and close its run."""
        run, result = self._children[stage], read_raw(stage)
        self._tag(run, {"breakeven.cached": word(how == "cached"), **tags_of(result)})
        if result["status"] != "not_taken":
            if not curves_are_in:
                self.curves(stage, read_curves(folder(stage) / CURVES))
            self._log_figures(
                run, {key: value for key, value in result.items() if key not in CANDIDATES}
            )
            for name, candidate in candidates_of(result):
                self._log_candidate(run, name, candidate, how)
        self._keep_files(run, folder(stage))
        self._end(run, "FINISHED")

    def fail(self, stage: Stage, message: str) -> None:
        """Close the run of a stage that did not come to its end."""
        run = self._children[stage]
        self._tag(run, {"breakeven.failure": message})
        if folder(stage).is_dir():
            self._keep_files(run, folder(stage))
        self._end(run, "FAILED")

    def summarise(self, digest: str) -> None:
        """Give the parent what two runs are compared by: headline figures, verdicts, data, path."""
        record, ingest = read_raw(Stage.record_decision), read_raw(Stage.ingest_data)
        self._log_figures(self.parent, record["figures"])
        verdicts = {stage: read_raw(stage).get("verdict") for stage in Stage}
        self._tag(
            self.parent,
            {
                "breakeven.data_digest": ingest["data_digest"],
                "breakeven.headline": record["headline"],
                "breakeven.nodes": record["nodes"],
                "breakeven.has_model": word(record["has_model"]),
                "breakeven.all_targets_met": word(record["all_targets_met"]),
                "breakeven.results": digest,
                **{f"verdict.{stage}": v for stage, v in verdicts.items() if v is not None},
            },
        )
        self._log_data_set(ingest)
        self._keep_files(self.parent, folder(Stage.record_decision))

    def close(self, status: RunStatus) -> None:
        """Close every run that is still open, the parent last."""
        for run in reversed(self._open.copy()):
            self._end(run, status)

    def _begin(self, name: str, parent: str | None, tags: Mapping[str, str]) -> str:
        links = {} if parent is None else {"mlflow.parentRunId": parent}
        own = {key: value[:_LONGEST_VALUE] for key, value in tags.items()}
        run = self._client.create_run(
            self.store.experiment_id, run_name=name, tags={**own, **links, **process_tags()}
        )
        self._open.append(run.info.run_id)
        return str(run.info.run_id)

    def _end(self, run: str, status: RunStatus) -> None:
        if run in self._open:
            self._open.remove(run)
            self._client.set_terminated(run, status)

    def _log_parameters(self) -> None:
        from mlflow.entities import Param

        values = parameters_of(yaml.safe_load(PARAMS.read_text("utf-8")))
        entries = [Param(key, value[:_LONGEST_VALUE]) for key, value in values]
        for start in range(0, len(entries), _ENTRIES_AT_ONCE):
            self._client.log_batch(self.parent, params=entries[start : start + _ENTRIES_AT_ONCE])

    def _log_figures(self, run: str, figures: Mapping[str, Any]) -> None:
        self._log_metrics(run, [(name, value, 0) for name, value in metrics_of(figures).items()])
        self._tag(run, {f"unknown.{name}": why for name, why in unknowns_of(figures).items()})

    def _log_candidate(
        self, parent: str, name: str, candidate: Mapping[str, Any], how: How
    ) -> None:
        tags = {"breakeven.level": "candidate", "breakeven.cached": word(how == "cached")}
        run = self._begin(name, parent, {**tags, **tags_of(candidate)})
        self._log_figures(run, candidate)
        self._end(run, "FINISHED")

    def _log_metrics(self, run: str, points: list[tuple[str, float, int]]) -> None:
        from mlflow.entities import Metric

        now_ms = time.time_ns() // 1_000_000
        metrics = [Metric(name, value, now_ms, step) for name, value, step in points]
        for start in range(0, len(metrics), _METRICS_AT_ONCE):
            self._client.log_batch(run, metrics=metrics[start : start + _METRICS_AT_ONCE])

    def _tag(self, run: str, tags: Mapping[str, str]) -> None:
        from mlflow.entities import RunTag

        entries = [RunTag(metric_name(key), value[:_LONGEST_VALUE]) for key, value in tags.items()]
        for start in range(0, len(entries), _ENTRIES_AT_ONCE):
            self._client.log_batch(run, tags=entries[start : start + _ENTRIES_AT_ONCE])

    def _keep_files(self, run: str, place: Path) -> None:
        for path in sorted(place.rglob("*")):
            is_small = path.is_file() and path.stat().st_size <= _LARGEST_KEPT_BYTES
            if is_small and path.suffix in _KEPT_SUFFIXES:
                within = path.parent.relative_to(place).as_posix()
                self._client.log_artifact(run, str(path), None if within == "." else within)

    def _log_data_set(self, ingest: Mapping[str, Any]) -> None:
        from mlflow.entities import Dataset, DatasetInput

        data_set = Dataset(
            name=ingest["name"],
            digest=ingest["data_digest"][:36],
            source_type="local",
            source=ingest["source"],
        )
        self._client.log_inputs(self.parent, [DatasetInput(data_set, [])])
