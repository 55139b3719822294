"""P: the two arms on a small 2-D job, with the bundled workload and loss."""

from pathlib import Path

import pytest
import yaml
from decision_results import support
from tiny_job import make_workspace

from stages.contract import (
    Implementation,
    InputError,
    PilotResult,
    Rung,
    Stage,
    SupportVerdict,
    load_settings,
    write,
)
from stages.pilot_accuracy import run
from stages.rules.pilot import judge_lift

STANDARD = Implementation(rung=Rung.standard, name="lesion_voxels")
SUPPORT = support(SupportVerdict.standard, Stage.pilot_accuracy)


def start(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A workspace whose operator claims accuracy in the training step."""
    make_workspace(tmp_path, root, monkeypatch)
    params = yaml.safe_load(Path("params.yaml").read_text())
    params["algorithm"] |= {"operator": "lesion_loss", "pilot_steps": 3, "pilot_seeds": 2}
    params["training"] |= {
        "workload": "stages.training.lesion_segmentation:make",
        "workload_source": str(root / "stages" / "training" / "lesion_segmentation"),
    }
    Path("params.yaml").write_text(yaml.safe_dump(params))
    changes = {
        "context": "training_step",
        "claim": "accuracy",
        "operator": "lesion_loss",
        "implementation": STANDARD,
    }
    write(SUPPORT.model_copy(update=changes))


def pilot() -> PilotResult:
    return run(load_settings(Stage.pilot_accuracy))


def test_both_arms_are_trained_and_compared(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paired over seeds and held-out cases; one patient gives no interval, hence no claim."""
    start(tmp_path, root, monkeypatch)
    result = pilot()
    assert [arm.name for arm in result.arms] == ["without the logic", "with the logic"]
    assert all(len(arm.dice) == 2 for arm in result.arms)
    without, with_logic = (sum(arm.dice) / 2 for arm in result.arms)
    assert result.lift.value == pytest.approx(with_logic - without)
    assert result.num_patients_held_out == 1
    assert result.verdict == judge_lift(result.lift) == "inconclusive"
    assert result.next is Stage.probe_budget
    assert result.implementation.rung is Rung.none


def test_the_arms_differ_by_the_logic_alone(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run twice, every figure is the same; the two arms are not."""
    start(tmp_path, root, monkeypatch)
    first, second = pilot(), pilot()
    assert first == second
    curves = Path("reports/pilot_accuracy/curves.jsonl").read_text().splitlines()
    assert len(curves) == 2 * 2 * 3
    starts = [line for line in curves if '"seed": 0, "step": 1,' in line]
    assert len({line.split('"loss"')[1] for line in starts}) == 2


def test_an_approval_sends_an_open_question_on(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The logic is kept in its standard form, and the reason names the person."""
    start(tmp_path, root, monkeypatch)
    Path("approvals.yaml").write_text(
        "pilot_accuracy: {verdict: inconclusive, next: build_operator, by: A. Name, "
        "date: 2026-01-31, because: a larger trial has shown it}\n"
    )
    result = pilot()
    assert result.next is Stage.build_operator
    assert result.implementation == STANDARD
    assert "Approved by A. Name" in result.reason


def test_accuracy_in_the_report_is_refused(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arms that differ in the inference graph are not built yet, and the message says so."""
    start(tmp_path, root, monkeypatch)
    write(SUPPORT)
    with pytest.raises(InputError, match="arms differ in the report is not supported yet"):
        pilot()
