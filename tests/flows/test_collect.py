"""What MLflow holds after a run, and after `breakeven collect`."""

import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fake_stage import WRAP
from fake_workspace import FakeWorkspace

from flows.decide import decide
from flows.dvc import child_environment
from flows.failures import ModelRefusedError, RunStoppedError
from flows.present import collect_present
from flows.tracking import Store, open_store, process_tags
from stages.contract import InputError, Stage, load_parameters
from tests.conftest import ROOT

LATENCY_BUDGET_MS = f"{load_parameters(ROOT / 'params.yaml').product.latency_budget_ms:g}"
HEADLINE = {
    "accuracy",
    "latency_p95_ms",
    "step_time_ms",
    "peak_memory_bytes",
    "end_to_end_gain",
    "compute_cost",
}


def runs(store: Store, query: str) -> list[Any]:
    return list(store.client.search_runs([store.experiment_id], query, max_results=1000))


def children(store: Store, parent: str) -> dict[str, Any]:
    found = runs(store, f"tags.`mlflow.parentRunId` = '{parent}'")
    return {run.info.run_name: run for run in found}


def parents(store: Store) -> list[Any]:
    """Newest first."""
    return runs(store, "tags.`breakeven.level` = 'run'")


@pytest.fixture
def store(finished: FakeWorkspace, monkeypatch: pytest.MonkeyPatch) -> Store:
    """The store after two runs of the flow."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return open_store(finished.path)


def test_parents_of_two_runs_compare_on_the_headline_figures(store: Store) -> None:
    """Both hold the same metrics; an unknown figure is a tag with its reason, not 0."""
    second, first = parents(store)
    for parent in (first, second):
        assert parent.info.status == "FINISHED"
        assert parent.data.metrics.keys() >= HEADLINE
        assert "scaling_efficiency" not in parent.data.metrics
        assert parent.data.tags["unknown.scaling_efficiency"] == "one worker"
        assert parent.data.metrics["accuracy_low"] == 0.65
        assert parent.data.params["product.latency_budget_ms"] == LATENCY_BUDGET_MS
        assert parent.data.tags["verdict.check_support"] == "build"
        assert parent.inputs.dataset_inputs[0].dataset.name == "phantom"
    assert first.data.metrics == second.data.metrics


def test_every_stage_is_a_child_and_says_whether_it_was_cached(store: Store) -> None:
    """The first run executed all; in the second all but `environment` are tagged cached."""
    second, first = parents(store)
    for parent, cached in ((first, set()), (second, set(Stage) - {Stage.environment})):
        found = children(store, parent.info.run_id)
        assert found.keys() == set(Stage)
        tagged = {n for n, r in found.items() if r.data.tags["breakeven.cached"] == "true"}
        assert tagged == cached
        passed_by = {n for n, r in found.items() if "breakeven.not_taken" in r.data.tags}
        assert passed_by == {"pilot_accuracy", "probe_scaling", "train_distributed"}


def test_candidates_are_grandchildren(store: Store) -> None:
    """Each candidate of the evidence ladder is a run of its own with its time."""
    support = children(store, parents(store)[0].info.run_id)["check_support"]
    found = runs(store, f"tags.`mlflow.parentRunId` = '{support.info.run_id}'")
    told = [(r.data.tags["rung"], r.info.run_name, r.data.metrics["time_ms"]) for r in found]
    assert sorted(told) == [
        ("compiled", "min_plus", 374.0),
        ("library", "scipy", 943.0),
        ("standard", "min_plus", 5000.0),
        ("standard", "running_minimum", 3880.0),
    ]
    assert support.data.metrics["economics.break_even_value_per_month"] == 1040.0
    assert support.data.tags["unknown.economics.benefit"] == "nobody has valued the target"


@pytest.mark.parametrize("position", [0, 1], ids=["cached", "executed"])
def test_curves_are_histories_with_steps(store: Store, position: int) -> None:
    """Each row of curves.jsonl is there once, at its step, whether tailed or read at the end."""
    training = children(store, parents(store)[position].info.run_id)["train_single"]
    history = store.client.get_metric_history(training.info.run_id, "loss")
    assert sorted((point.step, point.value) for point in history) == [
        (step, 1.0 / step) for step in range(1, 6)
    ]


def test_results_and_pages_are_artifacts(store: Store, tmp_path: Path) -> None:
    """They are listed and read back, from a path with a space, a percent sign and an accent."""
    parent = parents(store)[0]
    pages = {file.path for file in store.client.list_artifacts(parent.info.run_id)}
    assert {"decision.html", "decision.md", "result.json"} <= pages
    read_back = store.client.download_artifacts(parent.info.run_id, "decision.md", str(tmp_path))
    assert Path(read_back).read_text("utf-8") == "# Build it\n"


def test_one_version_for_one_content_with_its_signature(store: Store) -> None:
    """Two runs with the same packed files make one version; it met its targets and is champion."""
    import mlflow

    versions = store.client.search_model_versions("name = 'lesion_segmentation'")
    assert [version.version for version in versions] == ["1"] or versions[0].version == 1
    champion = store.client.get_model_version_by_alias("lesion_segmentation", "champion")
    assert str(champion.version) == "1"
    signature = mlflow.models.get_model_info("models:/lesion_segmentation@champion").signature
    assert str(signature.inputs.inputs[0].type) == "float32"
    assert signature.inputs.inputs[0].shape == (-1, 1, -1, -1)
    assert [spec.name for spec in signature.outputs.inputs] == ["mask", "report"]


@pytest.mark.slow
def test_collect_after_a_bare_repro_is_done_once(
    inside: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From removed reports and a fresh store: all children, restored ones cached, one version."""
    inside.dvc("repro")
    collect_present(open_store(inside.path))
    shutil.rmtree(inside.path / "reports")
    inside.dvc("repro")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{inside.path / 'fresh.db'}")
    first = inside.breakeven("collect")
    assert first.returncode == 0, first.stderr
    assert "kept now" in first.stdout
    second = inside.breakeven("collect")
    assert "kept before" in second.stdout
    store = open_store(inside.path)
    (parent,) = parents(store)
    found = children(store, parent.info.run_id)
    cached = {name for name, run in found.items() if run.data.tags["breakeven.cached"] == "true"}
    assert found.keys() == set(Stage)
    assert cached == set(Stage) - {Stage.environment}
    assert len(store.client.search_model_versions("name = 'lesion_segmentation'")) == 1


def test_missed_target_is_registered_without_the_alias_and_a_broken_model_is_not(
    inside: FakeWorkspace,
) -> None:
    """A version that missed a target is there, not champion; one that cannot load is refused."""
    inside.set_table({"produce_model": {"met": False, "factor": 3}})
    inside.dvc("repro")
    store = open_store(inside.path)
    model = collect_present(store).model
    assert model is not None
    assert not model.is_champion
    assert not store.client.get_registered_model("lesion_segmentation").aliases

    broken = WRAP.replace("        with numpy", "        import no_such_module\n        with numpy")
    assert broken != WRAP
    inside.set_table({"produce_model": {"wrap": broken, "factor": 4}})
    inside.dvc("repro")
    with pytest.raises(ModelRefusedError, match=r"not registered .*no_such_module"):
        collect_present(store)
    assert len(store.client.search_model_versions("name = 'lesion_segmentation'")) == 1


def test_run_id_in_the_environment_does_not_take_over(
    prefect_api: dict[str, str], inside: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MLFLOW_RUN_ID, as a shell inside another run has it, is neither used nor written to."""
    store = open_store(inside.path)
    foreign = store.client.create_run(store.experiment_id, run_name="foreign")
    monkeypatch.setenv("MLFLOW_RUN_ID", foreign.info.run_id)
    inside.set_table(
        {
            "check_support": {"next": "probe_budget"},
            "probe_budget": {"next": "probe_scaling"},
            "probe_scaling": {"next": "record_decision"},
        }
    )
    decide(workspace=str(inside.path))
    assert not store.client.get_run(foreign.info.run_id).data.metrics
    (parent,) = parents(store)
    assert children(store, parent.info.run_id).keys() == set(Stage)
    points = children(store, children(store, parent.info.run_id)["probe_scaling"].info.run_id)
    assert points.keys() == {"2 on this machine"}


def test_orphans_are_closed_and_runs_of_living_processes_left_alone(tmp_path: Path) -> None:
    """A run of a killed process is marked KILLED and told of once; a living one's stays open."""
    store = open_store(tmp_path)
    script = (
        "import os, signal, sys; from pathlib import Path\n"
        "from flows.tracking import open_store, process_tags\n"
        "store = open_store(Path(sys.argv[1]))\n"
        "run = store.client.create_run(store.experiment_id, tags=process_tags())\n"
        "print(run.info.run_id, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        env=child_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    orphan = ended.stdout.split()[-1]
    living = store.client.create_run(store.experiment_id, tags=process_tags()).info.run_id
    again = open_store(tmp_path)
    assert again.orphans == (orphan,)
    assert again.news is not None
    assert "was killed" in again.news
    assert open_store(tmp_path).news is None
    assert store.client.get_run(orphan).info.status == "KILLED"
    assert "its process ended" in store.client.get_run(orphan).data.tags["breakeven.note"]
    assert store.client.get_run(living).info.status == "RUNNING"


def test_database_of_another_mlflow_is_refused_and_left_alone(tmp_path: Path) -> None:
    """Nothing starts; the message names the upgrade command and advises a backup."""
    open_store(tmp_path)
    database = tmp_path / ".breakeven" / "mlflow.db"
    connection = sqlite3.connect(database)
    connection.execute("UPDATE alembic_version SET version_num = 'bd07f7e963c5'")
    connection.execute("DROP TABLE tags")
    connection.commit()
    connection.close()
    before = database.read_bytes()
    with pytest.raises(
        RunStoppedError, match=r"bd07f7e963c5.*backup.*mlflow db upgrade sqlite:///"
    ):
        open_store(tmp_path)
    assert database.read_bytes() == before


def test_results_of_a_run_that_stopped_early_are_not_collected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stages without a result are named, and the way to get them."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"missing environment, .*record_decision.*dvc repro"):
        collect_present(open_store(tmp_path))
