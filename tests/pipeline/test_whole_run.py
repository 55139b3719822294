"""A whole run: cached when nothing changed, re-run exactly where something did, collected once."""

import shutil
from pathlib import Path

import pytest
import yaml

from stages.contract import Stage
from tests.pipeline.conftest import ROOT, Workspace

pytestmark = pytest.mark.slow
PIPELINE = yaml.safe_load((ROOT / "dvc.yaml").read_text("utf-8"))["stages"]
OTHER_VALUES = {
    "product.deployment": "python",
    "product.currency": "CHF",
    "product.accuracy_metric": "lesion_f1",
    "product.case_shape": [32, 32],
    "product.value_per_month": {"accuracy": None, "latency": None, "training_time": None},
    "product.verdicts_needing_approval": ["build"],
    "product.economics_are_examples": False,
    "algorithm.build_days": [1, 2, 3],
    "infrastructure.network": {"bandwidth_mbit_s": 1, "latency_us": 1},
    "data.label_map": {2: 1},
    "data.allow_geometry_mismatch": True,
    "training.working_shape": [32, 32],
}
"""Valid other values for keys that are not plain numbers."""
DOORS = {
    "algorithm.operator",
    "data.source",
    "data.patient_pattern",
    "training.workload",
    "training.workload_source",
    "infrastructure.device",
    "infrastructure.launcher",
}
"""Keys that open doors: another value would need another door behind it."""


def test_everything_from_outside_reaches_a_registered_model(finished: Workspace) -> None:
    """Own data, own workload and an operator in Python end in a record and one model version."""
    decision = finished.result("record_decision")
    assert decision["has_model"]
    assert decision["operator"] == "neighbour_count"
    (model,) = finished.client().search_registered_models()
    assert len(finished.client().search_model_versions(f"name='{model.name}'")) == 1
    for suffix in ("json", "html", "md"):
        assert (finished.path / f"reports/record_decision/decision.{suffix}").stat().st_size > 0


def test_the_clone_stays_clean(finished: Workspace) -> None:
    """A run in a workspace of its own writes nothing beside it."""
    assert not (finished.doors.operator / "__pycache__").exists()
    assert sorted(p.name for p in finished.doors.data.iterdir()) == [
        "dataset.json",
        "imagesTr",
        "labelsTr",
    ]


def test_dvc_finds_nothing_stale_but_the_environment(finished: Workspace) -> None:
    """What a run leaves is what `dvc repro` would make."""
    assert finished.stale() == {"environment"}


def test_a_second_run_executes_only_the_environment(finished: Workspace) -> None:
    """Everything else is taken from the cache, and the model is not registered again."""
    before = finished.marks()
    ended = finished.run()
    assert ended.returncode == 0, ended.stdout + ended.stderr
    after = finished.marks()
    assert {stage for stage in after if after[stage] != before[stage]} == {"environment"}
    (model,) = finished.client().search_registered_models()
    assert len(finished.client().search_model_versions(f"name='{model.name}'")) == 1


def test_a_bare_repro_executes_only_the_environment(finished: Workspace) -> None:
    """Prefect and DVC agree on what is up to date."""
    before = finished.marks()
    finished.dvc("repro")
    after = finished.marks()
    assert {stage for stage in after if after[stage] != before[stage]} == {"environment"}


def test_each_parameter_makes_exactly_its_readers_stale(finished: Workspace) -> None:
    """Changing a key re-executes the stages for which dvc.yaml lists it, and no other."""
    path = finished.path / "params.yaml"
    kept = path.read_text("utf-8")
    readers: dict[str, set[str]] = {}
    for stage in Stage:
        for key in PIPELINE[stage].get("params", []):
            if isinstance(key, str) and key not in DOORS:
                readers.setdefault(key, set()).add(stage)
    assert len(readers) > 30
    try:
        for key, expected in readers.items():
            section, name = key.split(".")
            parameters = yaml.safe_load(kept)
            present = parameters[section][name]
            parameters[section][name] = OTHER_VALUES[key] if key in OTHER_VALUES else present + 0.5
            assert parameters[section][name] != present, key
            path.write_text(yaml.safe_dump(parameters), "utf-8")
            assert finished.stale() - {"environment"} == expected, key
    finally:
        path.write_text(kept, "utf-8")


def test_restored_results_are_collected_once(finished: Workspace, tmp_path: Path) -> None:
    """After `rm -rf reports; dvc repro`, collecting twice gives all children, one model version."""
    shutil.rmtree(finished.path / "reports")
    before = finished.marks()
    finished.dvc("repro")
    assert {s for s, at in finished.marks().items() if at != before[s]} == {"environment"}
    store = f"sqlite:///{tmp_path}/mlflow.db"
    elsewhere = Workspace(finished.path, finished.doors, environment={"MLFLOW_TRACKING_URI": store})
    for _ in range(2):
        ended = elsewhere.breakeven("collect", "--workspace", str(finished.path))
        assert ended.returncode == 0, ended.stdout + ended.stderr
    import mlflow

    client = mlflow.MlflowClient(store)
    (experiment,) = [e for e in client.search_experiments() if e.name != "Default"]
    runs = client.search_runs([experiment.experiment_id], max_results=1000)
    stages = [r for r in runs if r.data.tags.get("breakeven.level") == "stage"]
    assert {r.data.tags["breakeven.stage"] for r in stages} == set(Stage)
    cached = {
        r.data.tags["breakeven.stage"] for r in stages if r.data.tags["breakeven.cached"] == "true"
    }
    assert cached >= set(Stage) - {"environment"}
    (model,) = client.search_registered_models()
    assert len(client.search_model_versions(f"name='{model.name}'")) == 1


def test_two_runs_compare_on_the_headline_figures(finished: Workspace) -> None:
    """Parent runs carry the same figures by the same names, or say why one is unknown."""
    client = finished.client()
    (experiment,) = [e for e in client.search_experiments() if e.name != "Default"]
    runs = client.search_runs([experiment.experiment_id], max_results=1000)
    parents = [r for r in runs if r.data.tags.get("breakeven.level") == "run"]
    assert len(parents) >= 2
    names = (
        "accuracy",
        "latency_p95_ms",
        "step_time_ms",
        "peak_memory_bytes",
        "end_to_end_gain",
        "scaling_efficiency",
        "compute_cost",
    )
    for run in parents:
        for name in names:
            assert (name in run.data.metrics) != (f"unknown.{name}" in run.data.tags), name
    assert "accuracy" in parents[0].data.metrics
