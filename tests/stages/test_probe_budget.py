"""G's budget probe on a tiny job, in real processes."""

import os
from pathlib import Path

import pytest
import yaml
from tiny_job import make_workspace

from stages.contract import BudgetVerdict, InputError, Stage, load_settings
from stages.measuring.child import ChildFailedError, ask_child
from stages.measuring.forecast_memory import MemoryForecast, forecast_memory
from stages.measuring.micro_batch import find_fitting
from stages.probe_budget import probe_budget

ANSWER = {"peak_bytes": {"value": 800.0}, "samples_ms": [10.0, 11.0, 12.0]}


def test_tiny_job_is_within_every_budget(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real step is measured, and the whole job is num_steps of it."""
    make_workspace(tmp_path, root, monkeypatch)
    result = probe_budget(load_settings(Stage.probe_budget))
    assert (result.verdict, result.next) == (BudgetVerdict.within, Stage.train_single)
    assert result.fits_memory is True
    step, hours = result.step_time_ms.value, result.job_hours.value
    assert step is not None
    assert step > 0
    assert hours == pytest.approx(step * 6 / 3.6e6)
    assert result.job_cost.value == pytest.approx(hours * 0.4)
    parameters = (1 * 4 * 9 + 4) + (4 * 2 * 9 + 2)
    assert result.state_bytes.value == parameters * 4 * 4
    assert result.micro_batch_size == 4
    assert result.remedy is None


def test_memory_that_does_not_fit_is_not_run(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The forecast for one sample is over the device: over, and measured figures are unknown."""
    make_workspace(tmp_path, root, monkeypatch, infrastructure={"device_memory_gib": 1e-6})
    result = probe_budget(load_settings(Stage.probe_budget))
    assert (result.verdict, result.next) == (BudgetVerdict.over, Stage.probe_scaling)
    assert result.fits_memory is False
    assert result.micro_batch_size == 1
    assert "nothing was run" in (result.step_time_ms.reason or "")
    assert result.forecast_memory_bytes.value is not None


def test_an_over_that_needs_approval_is_not_sent_to_a_machine_it_does_not_fit(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cheaper way is one machine, but not for a job that one machine cannot hold."""
    make_workspace(
        tmp_path,
        root,
        monkeypatch,
        infrastructure={"device_memory_gib": 1e-6},
        product={"verdicts_needing_approval": ["over"]},
    )
    assert probe_budget(load_settings(Stage.probe_budget)).next == Stage.probe_scaling


def test_hours_over_budget_lead_to_the_scaling_probe_unless_that_needs_approval(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A budget of a microhour is over; with approval needed and none given, one machine trains."""
    make_workspace(tmp_path, root, monkeypatch, product={"training_hours_budget": 1e-9})
    result = probe_budget(load_settings(Stage.probe_budget))
    assert (result.verdict, result.next) == (BudgetVerdict.over, Stage.probe_scaling)
    params = yaml.safe_load(Path("params.yaml").read_text())
    params["product"]["verdicts_needing_approval"] = ["over"]
    Path("params.yaml").write_text(yaml.safe_dump(params))
    result = probe_budget(load_settings(Stage.probe_budget))
    assert (result.verdict, result.next) == (BudgetVerdict.over, Stage.train_single)
    assert "approvals.yaml" in result.reason


def test_a_smaller_micro_batch_is_the_remedy() -> None:
    """Of 6 samples, 3 fit: 6 is ruled out on paper and never run, 1 is not needed."""
    run: list[int] = []

    def measure(size: int) -> dict[str, object]:
        run.append(size)
        return ANSWER

    probe = find_fitting(6, 1000, lambda size: MemoryForecast(300 * size, 10), measure)
    assert (probe.micro_batch_size, probe.fits, run) == (3, True, [3])


def test_a_measured_peak_overrules_its_forecast() -> None:
    """What fits on paper and not for real is tried smaller."""

    def measure(size: int) -> dict[str, object]:
        return {"peak_bytes": {"value": 600.0 * size}, "samples_ms": [10.0, 11.0]}

    probe = find_fitting(4, 1000, lambda size: MemoryForecast(10, 10), measure)
    assert (probe.micro_batch_size, probe.fits) == (1, True)


def test_a_child_killed_for_memory_means_that_it_does_not_fit() -> None:
    """SIGKILL at every micro batch ends with "does not fit", said with the signal's name."""

    def measure(size: int) -> dict[str, object]:
        raise ChildFailedError("the child was killed by SIGKILL", is_out_of_memory=True)

    probe = find_fitting(2, 1000, lambda size: MemoryForecast(10, 10), measure)
    assert (probe.micro_batch_size, probe.fits) == (1, False)
    assert "SIGKILL" in (probe.measured_bytes.reason or "")


def test_a_crashing_child_leaves_memory_unknown() -> None:
    """A failed step says nothing about memory: unknown, with what the child said last."""

    def measure(size: int) -> dict[str, object]:
        raise ChildFailedError("ended with status 1: ValueError: a loss of our own")

    probe = find_fitting(2, 1000, lambda size: MemoryForecast(10, 10), measure)
    assert (probe.micro_batch_size, probe.fits) == (2, None)
    assert "a loss of our own" in (probe.step_time_ms.reason or "")


@pytest.mark.parametrize(
    ("code", "said", "is_memory"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL", True),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "SIGSEGV", False),
        ("raise MemoryError", "MemoryError", True),
        ("raise ValueError('odd')", "ValueError: odd", False),
        ("", "it printed nothing", False),
        ("import time; time.sleep(60)", "longer than 3 s", False),
    ],
)
def test_every_end_of_a_child_has_a_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, said: str, is_memory: bool
) -> None:
    """The parent lives on and says how the child ended."""
    (tmp_path / "dying.py").write_text(code)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")
    with pytest.raises(ChildFailedError, match=said) as raised:
        ask_child("dying", "--measure", {}, time_limit_s=3)
    assert raised.value.is_out_of_memory is is_memory


def test_a_childs_input_error_is_the_parents(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is wrong with the input stops the stage with its message: it is not "unknown"."""
    make_workspace(tmp_path, root, monkeypatch)
    Path("cases/p0.png").unlink()
    with pytest.raises(InputError, match=r"p0\.png"):
        probe_budget(load_settings(Stage.probe_budget))


def test_forecast_grows_with_the_micro_batch_and_holds_gradients_while_accumulating() -> None:
    """One linear layer: activations scale with the samples, and gradients are kept in between."""
    import torch

    def make() -> torch.nn.Module:
        return torch.nn.Conv2d(1, 2, 3, padding=1)

    whole = forecast_memory(make, 1, 2, (64, 64), 8, 8)
    split = forecast_memory(make, 1, 2, (64, 64), 8, 2)
    logits = 8 * 2 * 64 * 64 * 4
    assert whole.state_bytes == (1 * 2 * 9 + 2) * 4 * 4
    assert whole.peak_bytes > logits
    assert split.peak_bytes < whole.peak_bytes / 2
