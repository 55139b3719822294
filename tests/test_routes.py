"""The flow and DVC can never take different ways."""

from collections.abc import Callable
from itertools import dropwhile, product
from pathlib import Path
from typing import Any

import pytest
import yaml
from fake_workspace import FakeWorkspace

from flows.decide import decide, take_path
from flows.dvc import CLONE
from flows.tracking import open_store
from stages.contract import ROUTES, Result, Stage, execute, read_raw

COMBINATIONS = [dict(zip(ROUTES, choice, strict=True)) for choice in product(*ROUTES.values())]


def path_of_flow(name_next: Callable[[Stage], str | None]) -> tuple[Stage, ...]:
    """The stages that the flow runs before the record when each names what `name_next` says."""
    ran: list[Stage] = []

    def run(stage: Stage) -> Stage | None:
        ran.append(stage)
        named = name_next(stage)
        return None if named is None else Stage(named)

    take_path(run)
    return tuple(ran)


def named_in_result(stage: Stage) -> str | None:
    """What the stage's result in the current folder names."""
    named: str | None = read_raw(stage)["next"]
    return named


def one_combination_a_path() -> dict[tuple[Stage, ...], dict[Stage, Stage]]:
    """The first combination that leads to each path."""
    found: dict[tuple[Stage, ...], dict[Stage, Stage]] = {}
    for following in COMBINATIONS:
        found.setdefault(path_of_flow(following.get), following)
    return found


def taken() -> set[Stage]:
    """The stages of the current folder that were taken."""
    return {stage for stage in Stage if read_raw(stage)["status"] == "done"}


def is_as_before(
    before: dict[Stage, Stage] | None, following: dict[Stage, Stage]
) -> Callable[[Stage], bool]:
    """Whether a stage names the same as in the combination before; never for the first one."""
    return lambda stage: before is not None and before.get(stage) == following.get(stage)


def in_dvc_order() -> list[Stage]:
    """The stages as `dvc repro` runs them: each after those that it depends on."""
    pipeline = yaml.safe_load((CLONE / "dvc.yaml").read_text("utf-8"))["stages"]
    order: list[Stage] = []
    while len(order) < len(pipeline):
        for name, stage in pipeline.items():
            needed = {
                dep.split("/")[1] for dep in stage.get("deps", ()) if dep.startswith("reports/")
            }
            if name not in order and needed <= set(order):
                order.append(Stage(name))
    return order


def test_every_combination_of_verdicts_gives_the_same_stages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The flow runs the stages that take themselves when DVC runs all in its order."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dvc.yaml").write_bytes((CLONE / "dvc.yaml").read_bytes())
    (tmp_path / "params.yaml").write_bytes((CLONE / "params.yaml").read_bytes())
    order = in_dvc_order()
    assert len(COMBINATIONS) == 144
    paths = set()
    before: dict[Stage, Stage] | None = None
    for following in COMBINATIONS:
        # from the first change on, as DVC does
        for stage in dropwhile(is_as_before(before, following), order):
            result = Result(stage=stage, next=following.get(stage), reason="chosen")
            execute(stage, lambda settings, result=result: result)  # type: ignore[misc]
        before = following
        path = path_of_flow(named_in_result)
        assert {*path, Stage.record_decision} == taken(), following
        assert list(path) == sorted(path, key=list(Stage).index), "forward only"
        paths.add(path)
    assert len(paths) == 32


@pytest.mark.slow
def test_every_path_is_the_same_in_a_real_repro(inside: FakeWorkspace) -> None:
    """What `dvc repro` took is what the flow runs on these results, on each of the 32 paths."""
    combinations = one_combination_a_path()
    assert len(combinations) == 32
    for path, following in combinations.items():
        inside.set_table({stage: {"next": str(named)} for stage, named in following.items()})
        inside.dvc("repro")
        assert taken() == {*path, Stage.record_decision}
        assert path_of_flow(named_in_result) == path


@pytest.mark.slow
def test_flow_and_bare_dvc_agree_while_the_verdicts_change(
    prefect_api: dict[str, str], inside: FakeWorkspace
) -> None:
    """After either, the other finds nothing to do, though results of another path lay there."""
    routes: list[dict[str, dict[str, Any]]] = [
        {},
        {"check_support": {"next": "probe_budget"}, "probe_budget": {"next": "probe_scaling"}},
        {
            "check_support": {"next": "pilot_accuracy"},
            "validate_numerics": {"next": "probe_budget"},
            "probe_budget": {"next": "probe_scaling"},
            "probe_scaling": {"next": "record_decision"},
        },
    ]
    expected = [
        {"build_operator", "validate_numerics", "embed_operator", "train_single", "produce_model"},
        {"probe_scaling", "train_distributed", "produce_model"},
        {"pilot_accuracy", "build_operator", "validate_numerics", "probe_scaling"},
    ]
    always = {
        "environment",
        "ingest_data",
        "validate_data",
        "check_support",
        "probe_budget",
        "record_decision",
    }
    for table, middle in zip(routes, expected, strict=True):
        inside.set_table(table)
        record = decide(workspace=str(inside.path))
        assert taken() == always | middle
        assert {*record.path, Stage.record_decision} == always | middle
        assert ran_by(inside.dvc("repro")) <= {"environment"}
        assert inside.dvc("status").split() == ["environment:", "always", "changed"]

    inside.set_table(routes[1] | {"train_distributed": {"note": "anew"}})
    assert "train_distributed" in ran_by(inside.dvc("repro"))
    by_dvc = taken()
    decide(workspace=str(inside.path))
    assert taken() == by_dvc == always | expected[1]
    store = open_store(inside.path)
    parent = store.client.search_runs([store.experiment_id], "tags.`breakeven.level` = 'run'")[0]
    executed = store.client.search_runs(
        [store.experiment_id],
        f"tags.`mlflow.parentRunId` = '{parent.info.run_id}' AND tags.`breakeven.cached` = 'false'",
    )
    assert [run.data.tags["breakeven.stage"] for run in executed] == ["environment"]


def ran_by(output: str) -> set[str]:
    """The stages that DVC says it ran."""
    return {line.split("'")[1] for line in output.splitlines() if line.startswith("Running stage ")}
