"""D on operators in Python whose faults are known; tests/numerics asks each check by itself."""

from collections.abc import Callable
from pathlib import Path

import pytest
from operator_folders import write_operator
from tiny_job import make_workspace

from stages.contract import (
    Implementation,
    NumericsResult,
    NumericsVerdict,
    Rung,
    Settings,
    Stage,
    load_settings,
)
from stages.validate_numerics import validate_numerics

STANDARD = Implementation(rung=Rung.standard, name="sum")
Validate = Callable[..., NumericsResult]


@pytest.fixture
def validate(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> Validate:
    """Write an operator with the given body, and validate it."""

    def work(name: str, body: str) -> NumericsResult:
        operator = write_operator(tmp_path / name, body)
        workspace = tmp_path / "workspace"
        workspace.mkdir()
        make_workspace(
            workspace, root, monkeypatch, STANDARD, algorithm={"operator": str(operator)}
        )
        settings: Settings = load_settings(Stage.validate_numerics)
        return validate_numerics(settings)

    return work


def failed(result: NumericsResult) -> dict[str, str]:
    """Detail by name of the checks that failed."""
    return {check.name: check.detail for check in result.checks if not check.passed}


def test_right_operator_is_accepted(validate: Validate) -> None:
    """Every check passes, and embedding is next; until then the standard form is carried on
    with."""
    result = validate("twice_right", "return x * 2")
    assert failed(result) == {}
    assert (result.verdict, result.next) == (NumericsVerdict.accepted, Stage.embed_operator)
    assert result.implementation == STANDARD
    assert {"values", "layout", "threads", "empty"} <= {check.name for check in result.checks}
    assert all(check.num_cases for check in result.checks if not check.detail.startswith("not "))


def test_wrong_values_are_rejected_with_the_smallest_call(validate: Validate) -> None:
    """One wrong voxel in the larger cases: it is shrunk to that voxel, and the path goes on."""
    result = validate("twice_wrong", "return x * 2 + (x == 14)")
    assert (result.verdict, result.next) == (NumericsVerdict.rejected, Stage.probe_budget)
    values = next(check for check in result.checks if check.name == "values")
    assert values.detail.startswith(
        "1 of 1 values beyond the tolerance, worst at (0, 0, 0, 0): 29 instead of 28"
    )
    assert values.counter_example == (
        "import torch\nx0 = torch.full((1, 1, 1, 1), 14.0, dtype=torch.float32)\ntwice_wrong(x0)"
    )
    assert result.reason.startswith("Rejected by the check of values: 1 of 1 values")
    assert result.reason.endswith("The path goes on with standard sum.")
    assert result.implementation == STANDARD


def test_crash_is_a_finding_and_the_other_checks_go_on(validate: Validate) -> None:
    """An operator that dies on a view: the signal is named, everything else is asked as well."""
    body = "return x * 2 if x.is_contiguous() else os.kill(os.getpid(), signal.SIGSEGV)"
    result = validate("twice_crash", body)
    assert result.verdict is NumericsVerdict.rejected
    assert "the process died of SIGSEGV" in failed(result)["layout"]
    assert failed(result).keys() <= {"layout", "mutation", "fake"}
    assert next(check for check in result.checks if check.name == "values").passed


def test_operator_that_cannot_be_imported_is_rejected(validate: Validate) -> None:
    """What the import raised is the finding."""
    result = validate("twice_broken", "return x * 2\nraise RuntimeError('no library here')")
    assert result.verdict is NumericsVerdict.rejected
    assert failed(result) == {"opening": "RuntimeError: no library here"}
