"""The walls: results, routing, parameters and approvals."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from stages.contract import (
    Case,
    Figure,
    InputError,
    NotTaken,
    Result,
    Stage,
    UnlistedParameterError,
    execute,
    is_taken,
    known,
    load_settings,
    parse_parameters,
    read_if_taken,
    read_manifest,
    route,
    unknown,
    write,
    write_manifest,
)
from tests.conftest import ROOT

PARAMS = (ROOT / "params.yaml").read_text("utf-8")


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty workspace with the repository's parameters and pipeline, as current folder."""
    for name in ("params.yaml", "dvc.yaml", "approvals.yaml"):
        (tmp_path / name).write_text((ROOT / name).read_text("utf-8"), "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_figure_is_known_or_says_why() -> None:
    """Unknown is never silent, and a value needs no excuse."""
    assert known(1.5, 1.0, 2.0).is_known
    assert unknown("no GPU here").value is None
    with pytest.raises(ValidationError, match="either a value or the reason"):
        Figure(value=None)
    with pytest.raises(ValidationError, match="finite"):
        Figure(value=float("nan"))


def test_a_result_names_only_a_stage_of_its_routes() -> None:
    """A wrong `next` is refused when the result is made, not when the flow stumbles over it."""
    with pytest.raises(ValidationError, match="check_support must name one of"):
        Result(stage=Stage.check_support, reason="x", next=Stage.produce_model)
    with pytest.raises(ValidationError, match="decides nothing"):
        Result(stage=Stage.environment, reason="x", next=Stage.ingest_data)


def test_a_stage_is_taken_only_if_a_result_names_it(workspace: Path) -> None:
    """Of the stages that B may name, the named one is taken and the other is not."""
    write(Result(stage=Stage.check_support, next=Stage.build_operator, reason="x"))
    write(NotTaken(stage=Stage.pilot_accuracy, reason="x"))
    assert is_taken(Stage.build_operator)
    assert not is_taken(Stage.pilot_accuracy)


def test_a_stage_that_is_passed_by_writes_so_and_does_not_work(workspace: Path) -> None:
    """The work function of a stage that is not taken is never called."""
    write(Result(stage=Stage.check_support, next=Stage.probe_budget, reason="x"))

    def work(settings: object) -> Result:
        raise AssertionError("must not be called")

    execute(Stage.pilot_accuracy, work)
    assert read_if_taken(Stage.pilot_accuracy, Result) is None


def test_an_input_error_ends_the_stage_with_its_own_status(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bad input prints one message without a traceback, and keeps no result."""

    def work(settings: object) -> Result:
        raise InputError("expected a folder, got nothing")

    with pytest.raises(SystemExit, match="3"):
        execute(Stage.environment, work)
    assert capsys.readouterr().err == "environment: expected a folder, got nothing\n"
    assert not (workspace / "reports/environment/result.json").exists()


def test_only_listed_parameters_can_be_read(workspace: Path) -> None:
    """A stage cannot read what the cache does not watch for it."""
    settings = load_settings(Stage.build_operator)
    assert settings.algorithm.operator == "kernels/distance_transform"
    with pytest.raises(UnlistedParameterError, match=r"build_operator reads product\.day_rate"):
        _ = settings.product.day_rate


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "latency_budget_ms: 200",
            "latency_budget_ms: 0",
            r"product\.latency_budget_ms .* 0, got 0",
        ),
        ("day_rate: 900", "day_rat: 900", "did you mean day_rate"),
        ("build_days: [5, 10, 20]", "build_days: [9, 1, 2]", "low <= likely <= high"),
        ("device: cpu", "device: tpu", r"infrastructure\.device .*got 'tpu'"),
        ("'(patient\\d+)'", "'patient'", "must have a group"),
        ("training:", "training: [", "expected YAML"),
    ],
)
def test_a_bad_parameter_is_named(old: str, new: str, message: str) -> None:
    """The error names file, key, range and what arrived."""
    assert old in PARAMS
    with pytest.raises(InputError, match=message):
        parse_parameters(PARAMS.replace(old, new), "params.yaml")


def test_the_manifest_survives_the_round_trip(tmp_path: Path) -> None:
    """Names with spaces, commas, quotes and non-ASCII letters come back as they were."""
    case = Case(
        case_id='läsion "1", 肺',
        patient="p 1",
        split="train",
        images=("a b/é,0000.png", "c.png"),
        label="l.png",
        shape=(12, 10),
        spacing_mm=(1.0, 0.5),
        num_lesions=2,
        num_lesion_voxels=7,
        content_hash="00",
    )
    write_manifest((case,), tmp_path / "manifest.csv")
    assert read_manifest(tmp_path / "manifest.csv") == (case,)


def test_a_verdict_that_needs_approval_goes_the_cheaper_way_without_it(workspace: Path) -> None:
    """With the approval in the file, the same verdict goes where it proposed."""
    asked = (Stage.check_support, "build", Stage.build_operator, Stage.probe_budget, ("build",))
    stage, note = route(*asked)
    assert stage is Stage.probe_budget
    assert "approvals.yaml" in note
    (workspace / "approvals.yaml").write_text("check_support: " + APPROVAL.format("build"))
    assert route(*asked)[0] is Stage.build_operator


APPROVAL = "{{verdict: {0}, next: build_operator, by: A, date: 2026-01-31, because: b}}"


def test_an_approval_can_overrule_be_careful(workspace: Path) -> None:
    """A person may go on where the rule would not."""
    asked = (Stage.check_support, "be_careful", Stage.probe_budget, Stage.probe_budget, ())
    assert route(*asked)[0] is Stage.probe_budget
    (workspace / "approvals.yaml").write_text("check_support: " + APPROVAL.format("be_careful"))
    assert route(*asked)[0] is Stage.build_operator


def test_a_malformed_approval_is_named(workspace: Path) -> None:
    """An approval without a name is refused."""
    (workspace / "approvals.yaml").write_text("check_support: {verdict: build}")
    with pytest.raises(InputError, match=r"check_support\.by"):
        route(Stage.check_support, "build", Stage.build_operator, Stage.probe_budget, ())


@pytest.mark.parametrize("damage", ['{"stage": "check_', "", "[]", '{"status": "done"}'])
def test_a_damaged_result_is_named_with_the_way_on(workspace: Path, damage: str) -> None:
    """Cut off, empty, or of another version: the file and what to do, not a parser's traceback."""
    path = workspace / "reports" / "ingest_data" / "result.json"
    path.parent.mkdir(parents=True)
    path.write_text(damage, "utf-8")
    with pytest.raises(InputError, match=r"reports/ingest_data/result\.json: .*--fresh"):
        read_if_taken(Stage.ingest_data, Result)
