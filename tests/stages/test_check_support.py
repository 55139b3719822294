"""B on a tiny workload and an operator brought from outside, measured for real."""

from pathlib import Path
from typing import Any

import pytest
from tiny_job import make_workspace

from stages.check_support import check_support
from stages.contract import (
    InputError,
    Rung,
    Stage,
    SupportResult,
    SupportVerdict,
    load_settings,
    read,
    write,
)
from stages.embed_operator import embed_operator
from stages.rules.contention import is_too_busy


def support(
    place: Path, root: Path, monkeypatch: pytest.MonkeyPatch, **changes: dict[str, Any]
) -> SupportResult:
    """Run B in a workspace of its own."""
    operator = {"operator": str(root / "tests" / "doors" / "neighbour_count")}
    algorithm = operator | changes.pop("algorithm", {})
    make_workspace(place, root, monkeypatch, algorithm=algorithm, **changes)
    return check_support(load_settings(Stage.check_support))


def test_every_rung_is_examined_and_standard_wins(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both compositions are right, exportable and quick: standard, and the budget is next."""
    result = support(tmp_path, root, monkeypatch)
    assert (result.verdict, result.next) == (SupportVerdict.standard, Stage.probe_budget)
    assert [(c.rung, c.name) for c in result.candidates] == [
        (Rung.standard, "convolution"),
        (Rung.standard, "shifts"),
        (Rung.compiled, "convolution"),
        (Rung.compiled, "shifts"),
    ]
    assert all(c.qualifies and c.is_right and c.is_exportable for c in result.candidates), [
        c.disqualified_because for c in result.candidates
    ]
    assert result.input_shape == (1, 1, 32, 32)
    assert result.implementation.rung is Rung.standard
    assert result.implementation.name in result.reason
    best = min(c.end_to_end_ms.value or 0.0 for c in result.candidates)
    assert result.baseline_ms.value == best
    assert result.rest_ms.value is not None
    assert result.share.value == pytest.approx(1 - result.rest_ms.value / best)
    assert result.ceiling.value == pytest.approx(best / result.rest_ms.value)
    assert not result.worth_building


def test_budget_that_nothing_meets_is_weighed(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A budget below what the rest alone takes: no kernel can meet it, so none is worth it."""
    changes = {"product": {"case_shape": None, "latency_budget_ms": 1e-6}}
    result = support(tmp_path, root, monkeypatch, **changes)
    is_busy = is_too_busy(result.waiting)
    verdict = SupportVerdict.inconclusive if is_busy else SupportVerdict.not_worth_it
    assert (result.verdict, result.next) == (verdict, Stage.probe_budget)
    assert result.economics.payback_probability.value == 0
    assert result.economics.are_examples


def test_workload_without_the_operator_is_refused(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An operator that the workload never calls in that context cannot be judged."""
    with pytest.raises(InputError, match=r"call operators\['lesion_loss'\] in its training step"):
        support(tmp_path, root, monkeypatch, algorithm={"operator": "lesion_loss"})


def test_embedding_measures_with_and_without(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E exports the whole graph with the operator inside; the verdict follows from the gain's
    interval."""
    write(support(tmp_path, root, monkeypatch))
    result = embed_operator(load_settings(Stage.embed_operator))
    assert result.next is Stage.probe_budget
    assert result.is_exportable
    assert result.compiles_fullgraph
    gain = result.realised_gain
    assert gain.low is not None
    is_embedded = result.implementation.rung is Rung.custom
    assert is_embedded == (gain.low > 1)
    standard = read(Stage.check_support, SupportResult).implementation
    assert is_embedded or result.implementation == standard


def test_operator_that_breaks_the_job_is_refused(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the operator raises in the graph is a finding; the standard form is carried on with."""
    write(support(tmp_path, root, monkeypatch))
    from kernels.folder import OperatorFolder

    def broken(*args: Any) -> None:
        raise RuntimeError("no such device")

    monkeypatch.setattr(OperatorFolder, "custom", property(lambda self: broken))
    result = embed_operator(load_settings(Stage.embed_operator))
    assert result.verdict == "rejected"
    assert "RuntimeError: no such device" in result.findings[0]
    assert result.implementation == read(Stage.check_support, SupportResult).implementation
    assert result.realised_gain.reason is not None
