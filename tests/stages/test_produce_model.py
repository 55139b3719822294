"""The packed model: loaded where nothing of Breakeven is, it gives what was measured here."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from decision_results import training
from tiny_job import NO_OPERATOR, make_workspace

from stages.contract import (
    Implementation,
    ModelResult,
    ModelVerdict,
    NotTaken,
    Rung,
    Stage,
    derive_data_shape,
    folder,
    load_settings,
    load_workload,
    unknown,
    write,
)
from stages.contract import known as known_figure
from stages.produce_model import produce_model
from stages.reporting.accuracy import mean_by_patient
from stages.reporting.serve import Package
from stages.reporting.targets import at_least, at_most, judge, unless_disturbed

CONVOLUTION = Implementation(rung=Rung.standard, name="convolution")
CUSTOM = Implementation(rung=Rung.custom, name="neighbour_count")
LOAD = """
import sys, numpy, pathlib, importlib.util
import mlflow
place = pathlib.Path(sys.argv[1])
artifacts = {pathlib.Path(f).stem: str(place / f) for f in sys.argv[2:] if f != "wrap.py"}
mlflow.set_tracking_uri("sqlite:///store.db")
mlflow.pyfunc.save_model("model", python_model=str(place / "wrap.py"), artifacts=artifacts,
                         pip_requirements=["torch"])
"""
PREDICT = """
import mlflow, numpy
model = mlflow.pyfunc.load_model("model")
with numpy.load("example.npz") as example:
    image = example["image"]
result = model.predict(image)
numpy.savez("answer.npz", **result)
"""


def train_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seeded weights in place of trained ones: the package does not care where they come from."""
    settings = load_settings(Stage.produce_model)
    from stages.contract import IngestResult, read

    shape = derive_data_shape(read(Stage.ingest_data, IngestResult), settings)
    torch.manual_seed(0)
    model = load_workload(settings.training).make_model(shape)
    result = training(Stage.train_single)
    write(result)
    torch.save(model.state_dict(), folder(Stage.train_single) / result.weights)
    write(NotTaken(stage=Stage.train_distributed, reason="no upstream result names it"))


def produce(
    tmp_path: Path,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    implementation: Implementation = NO_OPERATOR,
    **changes: dict[str, Any],
) -> ModelResult:
    operator = {"operator": str(root / "tests" / "doors" / "neighbour_count")}
    changes["algorithm"] = operator | changes.get("algorithm", {})
    make_workspace(tmp_path, root, monkeypatch, implementation, **changes)
    train_nothing(monkeypatch)
    result = produce_model(load_settings(Stage.produce_model))
    write(result)
    return result


def test_package_is_measured_and_complete(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Graph first; accuracy, latency and memory are there; facts and example agree."""
    result = produce(tmp_path, root, monkeypatch, CONVOLUTION)
    place = folder(Stage.produce_model)
    assert result.files[0] == "graph.pt2"
    assert all((place / name).exists() for name in result.files)
    assert set(result.accuracy) == {"dice", "lesion_f1", "lesion_recall"}
    assert (result.latency_p95_ms.value or 0) >= (result.latency_median_ms.value or 1e9)
    assert (result.peak_memory_bytes.value or 0) > 0
    assert result.verdict is ModelVerdict.met, result.reason
    facts = json.loads((place / "model.json").read_text())
    assert facts["input_shape"] == list(result.input_shape) == [1, 1, 32, 32]
    assert facts["report_columns"] == ["foreground", "most_neighbours"]
    assert facts["operator"] is None
    assert facts["content_hash"] == result.content_hash
    assert torch.export.load(place / "graph.pt2").example_inputs is None
    with np.load(place / "example.npz") as example:
        assert example["image"].shape == (1, 1, 32, 32)
        assert example["mask"].shape == (32, 32)
        assert example["report"][0, 0] == example["mask"].sum()


def test_equal_content_has_an_equal_hash(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Packed twice, one version; other weights, another."""
    first = produce(tmp_path, root, monkeypatch, CONVOLUTION)
    again = produce_model(load_settings(Stage.produce_model))
    assert again.content_hash == first.content_hash
    weights = folder(Stage.train_single) / "weights.pt"
    state = torch.load(weights, weights_only=True)
    state["0.bias"] += 1e-3
    torch.save(state, weights)
    assert produce_model(load_settings(Stage.produce_model)).content_hash != first.content_hash


@pytest.mark.parametrize("implementation", [CONVOLUTION, CUSTOM], ids=["standard", "custom"])
def test_fresh_process_gives_the_same_mask(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch, implementation: Implementation
) -> None:
    """MLflow loads the package where neither operator nor repository is known, and it agrees."""
    result = produce(tmp_path, root, monkeypatch, implementation)
    place = folder(Stage.produce_model).resolve()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "example.npz").write_bytes((place / "example.npz").read_bytes())
    for code, arguments in ((LOAD, [str(place), *result.files]), (PREDICT, [])):
        ended = subprocess.run(
            [sys.executable, "-I", "-c", code, *arguments],
            cwd=elsewhere,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
    with (
        np.load(place / "example.npz") as expected,
        np.load(elsewhere / "answer.npz") as found,
    ):
        np.testing.assert_array_equal(found["mask"], expected["mask"])
        np.testing.assert_array_equal(found["report"], expected["report"])


def test_operator_in_python_travels_as_its_folder(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The package holds the operator's folder, without byte code, and names it."""
    result = produce(tmp_path, root, monkeypatch, CUSTOM)
    place = folder(Stage.produce_model)
    assert "operator" in result.files
    assert (place / "operator" / "op.py").is_file()
    assert not list((place / "operator").rglob("*.pyc"))
    facts = json.loads((place / "model.json").read_text())
    assert facts["operator"]["namespace"] == "breakeven_doors"


def test_missed_targets_are_missed_and_still_packed(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A latency budget of a nanosecond is missed, by how much is said, and the way goes on."""
    result = produce(tmp_path, root, monkeypatch, CONVOLUTION, product={"latency_budget_ms": 1e-6})
    assert result.verdict is ModelVerdict.missed
    missed = {target.name: target for target in result.targets if target.is_met is False}
    assert set(missed) == {"latency p95"}
    assert (missed["latency p95"].difference.value or 0) > 0
    assert result.next == Stage.record_decision


def package(fit: str) -> Package:
    """A graph that adds nothing: mask is where the image is above 0."""

    def graph(image: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        assert image.is_contiguous()
        assert tuple(image.shape) == (1, 1, 4, 6)
        return (image > 0).to(torch.uint8), image.sum().reshape(1, 1)

    return Package(graph, {"input_shape": [1, 1, 4, 6], "fit": fit, "device": "cpu"})


def test_smaller_cases_are_padded_and_cropped_back() -> None:
    """Zeros are added at the end, and the mask has the size of what came in."""
    image = np.ones((1, 1, 3, 5), np.float64)
    prediction = package("pad").predict(image)
    assert isinstance(prediction, dict)
    assert prediction["mask"].shape == (3, 5)
    assert prediction["report"][0, 0] == 15


def test_several_cases_and_any_memory_order() -> None:
    """N cases give N predictions; column-major memory gives what row-major gives."""
    images = np.random.default_rng(0).normal(size=(3, 1, 4, 6)).astype(np.float32)
    plain = package("resample").predict(images)
    other = package("resample").predict(np.asfortranarray(images))
    assert isinstance(plain, list)
    assert isinstance(other, list)
    assert len(plain) == 3
    for left, right in zip(plain, other, strict=True):
        np.testing.assert_array_equal(left["mask"], right["mask"])


@pytest.mark.parametrize(
    ("fit", "shape"),
    [
        ("pad", (1, 1, 5, 6)),
        ("pad", (1, 2, 4, 6)),
        ("pad", (1, 4, 6)),
        ("pad", (0, 1, 4, 6)),
        ("resample", (1, 1, 3, 6)),
    ],
)
def test_other_shapes_are_refused_with_one_clear_error(fit: str, shape: tuple[int, ...]) -> None:
    """The message holds the expected shape and what arrived."""
    with pytest.raises(ValueError, match=r"expected images of shape \(N, 1, 4, 6\).*got \("):
        package(fit).predict(np.zeros(shape, np.float32))


def test_targets_are_met_at_their_boundary_and_unknown_is_not_met() -> None:
    """Reached exactly is met; a figure that could not be had keeps the verdict from "met"."""
    exact = at_least("dice", 0.6, known_figure(0.6)), at_most("p95", 400, known_figure(400), "ms")
    assert judge(exact) is ModelVerdict.met
    missing = at_most("p95", 400, unknown("the child was killed"), "ms")
    assert missing.is_met is None
    assert judge((*exact, missing)) is ModelVerdict.missed


def test_a_busy_machine_excuses_a_missed_time_but_takes_nothing_from_a_met_one() -> None:
    """Others may have caused a miss, so it is not known, unless it is too large for them to have
    caused; what was met in spite of them is met."""
    missed = at_most("p95", 40, known_figure(43.0), "ms")
    met = at_most("p95", 50, known_figure(43.0), "ms")
    assert missed.is_met is False
    assert unless_disturbed(missed, waiting=0.3).is_met is None
    assert unless_disturbed(missed, waiting=0.05).is_met is False
    assert unless_disturbed(missed, waiting=0.0).is_met is False
    assert unless_disturbed(met, waiting=0.3).is_met is True


def test_interval_is_over_patients_and_skips_undefined_cases() -> None:
    """Ten cases of one patient are one patient: no interval; NaN is no score of 0."""
    nan = float("nan")
    alone = mean_by_patient([0.2, 0.4, nan], ["a", "a", "a"])
    assert (alone.value, alone.low, alone.num_samples) == (pytest.approx(0.3), None, 2)
    several = mean_by_patient([0.2, 0.4, 0.9], ["a", "a", "b"])
    assert several.value == pytest.approx(0.5)
    assert several.low == pytest.approx(0.3)
    assert several.high == pytest.approx(0.9)
    assert mean_by_patient([nan], ["a"]).reason == "undefined on all of 1 cases"
