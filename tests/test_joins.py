"""Where the parts meet: graph, dvc.yaml, params.yaml, approvals.yaml, files and imports."""

import ast
from functools import cache
from modulefinder import ModuleFinder
from pathlib import Path
from typing import Any

import pytest
import yaml

import kernels
from stages.contract import ROUTES, Parameters, Stage, load_parameters, named_by
from tests.conftest import ROOT

PIPELINE: dict[str, Any] = yaml.safe_load((ROOT / "dvc.yaml").read_text("utf-8"))["stages"]
STAGES = list(Stage)
VARIABLES = {
    "algorithm.operator": "kernels/distance_transform",
    "data.source": "data/phantom.yaml",
    "training.workload_source": "stages/training/lesion_segmentation",
}


def dependencies(stage: Stage) -> list[str]:
    """The stage's dependencies with the variables filled in."""
    listed = PIPELINE[stage].get("deps", [])
    for name, value in VARIABLES.items():
        listed = [path.replace(f"${{{name}}}", value) for path in listed]
    return listed


def is_covered(path: Path, listed: list[str]) -> bool:
    """Whether a file is a dependency or lies in a folder that is one."""
    return any(path == ROOT / entry or (ROOT / entry) in path.parents for entry in listed)


@cache
def imported_files(script: Path) -> frozenset[Path]:
    """The repository's files that a script imports, directly or not, also inside functions."""
    finder = ModuleFinder(path=[str(ROOT)])
    finder.run_script(str(script))
    files = (Path(module.__file__) for module in finder.modules.values() if module.__file__)
    return frozenset(file for file in files if not is_only_a_docstring(file))


def is_only_a_docstring(file: Path) -> bool:
    """Whether a file holds no code, so that a change of it changes no result."""
    body = ast.parse(file.read_text("utf-8")).body
    return all(isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) for node in body)


def test_dvc_has_the_stages_of_the_graph() -> None:
    """dvc.yaml names the same stages in the same order as the graph."""
    assert list(PIPELINE) == STAGES


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_is_one_file_one_process_one_output(stage: Stage) -> None:
    """Stage, module, command and output share one name."""
    assert PIPELINE[stage]["cmd"] == f"python -m stages.{stage}"
    assert PIPELINE[stage]["outs"] == [f"reports/{stage}"]
    assert (ROOT / "stages" / f"{stage}.py").is_file()


@pytest.mark.parametrize("stage", [s for s in STAGES if s is not Stage.environment])
def test_dependencies_cover_every_import(stage: Stage) -> None:
    """A change in any module that a stage imports makes the stage stale."""
    files = imported_files(ROOT / "stages" / f"{stage}.py")
    missed = [str(f.relative_to(ROOT)) for f in files if not is_covered(f, dependencies(stage))]
    assert not missed


def test_the_bundled_workload_is_covered_by_its_source() -> None:
    """What the workload imports is watched by every stage that names the workload's source."""
    files = imported_files(ROOT / VARIABLES["training.workload_source"] / "__init__.py")
    for stage in STAGES:
        if "training.workload_source" in PIPELINE[stage].get("params", []):
            missed = [f for f in files if not is_covered(f, dependencies(stage))]
            assert not missed, stage


@pytest.mark.parametrize("stage", [s for s in STAGES if named_by(s)])
def test_a_stage_depends_on_every_result_that_may_name_it(stage: Stage) -> None:
    """Routing reads upstream results: each is a dependency."""
    for source in named_by(stage):
        assert is_covered(ROOT / "reports" / source / "result.json", dependencies(stage)), source


def test_dependencies_run_forward_in_the_graph() -> None:
    """A stage depends on results of earlier stages only."""
    for stage in STAGES:
        for path in dependencies(stage):
            if path.startswith("reports/"):
                assert STAGES.index(Stage(path.split("/")[1])) < STAGES.index(stage), (stage, path)


def test_routes_run_forward() -> None:
    """A result names only later stages, so that the flow needs no loop."""
    for stage, followers in ROUTES.items():
        assert all(STAGES.index(stage) < STAGES.index(follower) for follower in followers)


def test_every_listed_parameter_exists() -> None:
    """A key listed in dvc.yaml is a field of its owner's model."""
    for stage in STAGES:
        for key in PIPELINE[stage].get("params", []):
            if isinstance(key, str):
                section, name = key.split(".")
                owner = Parameters.model_fields[section].annotation
                assert owner is not None
                assert name in owner.model_fields, (stage, key)


def test_every_parameter_is_read_by_a_stage_or_the_flow() -> None:
    """No key of params.yaml is without effect."""
    listed = {k for s in STAGES for k in PIPELINE[s].get("params", []) if isinstance(k, str)}
    read_by_the_flow = {"infrastructure.stage_time_limit_s"}
    for section, field in Parameters.model_fields.items():
        assert field.annotation is not None
        for name in field.annotation.model_fields:
            assert f"{section}.{name}" in listed | read_by_the_flow


def test_params_load() -> None:
    """The committed params.yaml is valid and holds the documented defaults of the doors."""
    parameters = load_parameters(ROOT / "params.yaml")
    assert parameters.algorithm.operator == VARIABLES["algorithm.operator"]
    assert parameters.training.workload_source == VARIABLES["training.workload_source"]


def test_approvals_guard_their_stages_and_are_empty() -> None:
    """Each key of approvals.yaml is watched by the stage of that name; none is given by default."""
    approvals = yaml.safe_load((ROOT / "approvals.yaml").read_text("utf-8"))
    guarded = {
        stage
        for stage in STAGES
        for entry in PIPELINE[stage].get("params", [])
        if isinstance(entry, dict) and entry == {"approvals.yaml": [stage]}
    }
    assert set(approvals) == guarded
    assert set(approvals.values()) == {None}


def test_kernels_is_ours() -> None:
    """A package of the same name on the index does not win over ours."""
    assert Path(kernels.__file__).parent == ROOT / "kernels"
