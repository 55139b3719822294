"""D's battery on operators in Python whose faults are known."""

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
    """Write an operator with the given body, validate it, with short limits."""

    def work(name: str, body: str, check_limit_s: float = 60.0) -> NumericsResult:
        operator = write_operator(tmp_path / name, body)
        workspace = tmp_path / "workspace"
        workspace.mkdir()
        make_workspace(
            workspace, root, monkeypatch, STANDARD, algorithm={"operator": str(operator)}
        )
        settings: Settings = load_settings(Stage.validate_numerics)
        return validate_numerics(settings, check_limit_s)

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
    assert {"values", "layouts", "threads", "empty"} <= {check.name for check in result.checks}


def test_wrong_values_are_rejected_with_the_smallest_case(validate: Validate) -> None:
    """One wrong voxel in the larger cases: the smaller of them is named, the path goes on."""
    result = validate("twice_wrong", "return x * 2 + (x == 14)")
    assert (result.verdict, result.next) == (NumericsVerdict.rejected, Stage.probe_budget)
    assert list(failed(result)) == ["values"]
    assert failed(result)["values"].startswith("3x5, (1, 1, 3, 5) float32: 1 of 15 values")
    assert result.reason.endswith("The path goes on with standard sum.")
    assert result.implementation == STANDARD


def test_all_zeros_are_rejected(validate: Validate) -> None:
    """An output of nothing is no result."""
    assert {"values", "all zeros"} <= failed(validate("twice_zero", "return x * 0")).keys()


def test_writing_to_an_input_and_returning_it_are_rejected(validate: Validate) -> None:
    """In-place work is found by two checks."""
    result = validate("twice_inplace", "return x.mul_(2)")
    assert {"inputs unchanged", "aliasing"} <= failed(result).keys()


def test_reading_memory_as_if_it_were_contiguous_is_rejected(validate: Validate) -> None:
    """Right on contiguous inputs alone."""
    body = "return x.as_strided(x.shape, torch.empty(x.shape).stride(), 0) * 2"
    assert "layouts" in failed(validate("twice_strides", body))


def test_results_that_vary_are_rejected(validate: Validate) -> None:
    """Noise within the tolerance is still not the same bits."""
    result = validate("twice_noise", "return x * 2 * (1 + torch.rand(()) * 5e-7)")
    assert "repeats" in failed(result)


def test_crash_is_a_finding_and_the_other_checks_are_told(validate: Validate) -> None:
    """An operator that dies on large inputs alone: the signal is named, small cases still count."""
    body = "return x * 2 if x.is_contiguous() else os.kill(os.getpid(), signal.SIGSEGV)"
    result = validate("twice_crash", body)
    assert result.verdict is NumericsVerdict.rejected
    assert failed(result) == {"layouts": "the process was ended by SIGSEGV"}
    assert sum(check.passed for check in result.checks) == len(result.checks) - 1


def test_hang_is_ended(validate: Validate) -> None:
    """A loop that never ends costs the time limit of its check, no more."""
    body = "\n    while not x.is_contiguous():\n        pass\n    return x * 2"
    result = validate("twice_hang", body, check_limit_s=10.0)
    assert failed(result) == {"layouts": "took longer than 10 s and was ended"}


def test_operator_that_cannot_be_imported_is_rejected(validate: Validate) -> None:
    """Every check says what the import raised."""
    result = validate("twice_broken", "return x * 2\nraise RuntimeError('no library here')")
    assert result.verdict is NumericsVerdict.rejected
    assert "no library here" in failed(result)["values"]
