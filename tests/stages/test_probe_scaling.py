"""G's scaling probe: two real workers on a tiny job, and what is refused before any is started."""

import os
from pathlib import Path
from typing import Any

import pytest
from decision_results import budget
from tiny_job import make_workspace

from stages.contract import (
    SCRATCH,
    BudgetVerdict,
    ScalingResult,
    ScalingVerdict,
    Stage,
    known,
    load_settings,
    unknown,
    write,
)
from stages.measuring.decomposition import decompose
from stages.probe_scaling import probe_scaling
from stages.rules.points import Job, Measured, Seats, make_points, samples_of_worker, worker_counts
from stages.rules.ring import Link, StepProfile
from stages.rules.scaling import HERE, NETWORK

OVER = budget(BudgetVerdict.over).model_copy(update={"micro_batch_size": 2})


def probe() -> ScalingResult:
    return probe_scaling(load_settings(Stage.probe_scaling))


def test_two_real_workers_are_measured(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compute, communication, skew and the link come from a real launch; more is forecast."""
    make_workspace(tmp_path, root, monkeypatch, training={"batch_size": 4})
    write(OVER)
    result = probe()
    assert result.verdict is not ScalingVerdict.impossible, result.reason
    compute, exposed = result.compute_ms.value, result.exposed_communication_ms.value
    assert compute is not None, result.reason
    assert exposed is not None
    assert compute > 0
    assert exposed >= 0
    assert (result.bandwidth_mbit_s.value or 0) > 0
    points = {(point.where, point.num_workers): point for point in result.points}
    assert [n for where, n in points if where == HERE] == [1, 2, 4, 8]
    assert points[HERE, 2].is_measured
    assert points[HERE, 1].speedup.value == 1
    assert not points[HERE, 4].is_measured
    assert points[HERE, 4].speedup.is_known == ((os.cpu_count() or 1) >= 4)
    assert "cannot be split over 8" in (points[NETWORK, 8].speedup.reason or "")
    assert (result.next == Stage.train_distributed) == (result.num_workers > 1)


def test_memory_that_fits_nowhere_starts_no_process(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Impossible leads to the record, with no launch behind it and every figure unknown."""
    make_workspace(tmp_path, root, monkeypatch)
    changes: dict[str, Any] = {
        "fits_memory": False,
        "memory_budget_bytes": 1000,
        "measured_memory_bytes": unknown("nothing was run"),
    }
    write(OVER.model_copy(update=changes))
    result = probe()
    assert (result.verdict, result.next) == (ScalingVerdict.impossible, Stage.record_decision)
    assert "fits nowhere" in result.reason
    assert result.points == ()
    assert result.compute_ms.reason
    assert not (SCRATCH / "probe_scaling").exists()


def test_a_state_that_would_have_to_be_shared_is_said(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """40 of 50 MiB are state: on 4 workers 20 MiB would do, but nobody here shares the state."""
    make_workspace(tmp_path, root, monkeypatch)
    changes: dict[str, Any] = {
        "fits_memory": False,
        "memory_budget_bytes": 20 * 2**20,
        "measured_memory_bytes": known(50 * 2**20),
    }
    write(OVER.model_copy(update=changes))
    result = probe()
    assert result.verdict is ScalingVerdict.impossible
    assert "On 4 workers a shared state would fit on paper" in result.reason


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"infrastructure": {"max_workers": 1}}, "max_workers allows"),
        ({"training": {"batch_size": 1}}, "cannot be split over two"),
    ],
)
def test_nothing_to_distribute_is_refused_without_a_launch(
    tmp_path: Path,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, dict[str, Any]],
    said: str,
) -> None:
    """One worker allowed, or one sample a step: refused, one worker trains."""
    make_workspace(tmp_path, root, monkeypatch, **changes)
    write(OVER)
    result = probe()
    assert (result.verdict, result.next) == (ScalingVerdict.refuse, Stage.train_single)
    assert said in result.reason
    assert not (SCRATCH / "probe_scaling").exists()


def test_failed_workers_are_inconclusive_with_their_reason(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers that cannot read their cases end in a verdict that names the cause."""
    make_workspace(tmp_path, root, monkeypatch)
    write(OVER)
    for file in Path("cases").iterdir():
        file.unlink()
    result = probe()
    assert (result.verdict, result.next) == (ScalingVerdict.inconclusive, Stage.train_single)
    assert "p0.png" in result.reason
    assert result.compute_ms.reason


def test_planted_delay_is_found_as_skew_and_not_as_communication() -> None:
    """A worker that computes 50 ms longer, and 20 ms of exchange that nothing hides."""
    report = {"alone_ms": [[100.0, 150.0]] * 5, "together_ms": [[170.0, 170.0]] * 5}
    parts = decompose(report)
    assert parts.compute_ms.value == 150
    assert parts.skew_ms.value == 50
    assert parts.exposed_ms.value == 20


def test_noise_never_makes_communication_negative() -> None:
    """A step with exchange that happens to be faster exposes nothing."""
    parts = decompose({"alone_ms": [[100.0, 100.0]] * 5, "together_ms": [[90.0, 90.0]] * 5})
    assert parts.exposed_ms.value == 0


def test_worker_counts() -> None:
    """Powers of two, and the most; the largest part of a batch is rounded up."""
    assert worker_counts(1) == (1,)
    assert worker_counts(8) == (1, 2, 4, 8)
    assert worker_counts(6) == (1, 2, 4, 6)
    assert samples_of_worker(6, 4) == 2


def test_forecast_on_a_slow_network_is_slower_than_one_worker() -> None:
    """8 ms a megabyte, 10 MB of gradients ready at the end: 80 ms for a gain of 50 ms on two."""
    measured = Measured(
        one_worker_ms={4: known(100.0), 2: known(50.0), 1: known(25.0)},
        two_workers_ms=known(95.0),
        two_workers_speedup=known(100 / 95),
        profile=StepProfile(90.0, 0.0, (10_000_000,), (1.0,)),
        skew_ms=0.0,
        link=Link(0.0, 0.0001),
    )
    points = make_points(measured, Job(3600, 4, 2.0), 4, Seats(4, False), Link(0.0, 0.008))
    found = {(p.where, p.num_workers): p for p in points}
    assert found[NETWORK, 2].step_time_ms.value == pytest.approx(50 + 80)
    assert found[NETWORK, 4].step_time_ms.value == pytest.approx(25 + 1.5 * 80)
    assert found[NETWORK, 2].speedup.value == pytest.approx(100 / 130)
    assert found[HERE, 4].step_time_ms.value == pytest.approx(90 + 1.5)
    assert found[HERE, 4].efficiency.value == pytest.approx(100 / 91.5 / 4)
    assert found[HERE, 1].job_hours.value == pytest.approx(0.1)
    assert found[HERE, 2].job_cost.value == pytest.approx(0.095 * 2 * 2)
