"""Refused and failed operators fall back to the best rung that works; nothing ends in a crash."""

from pathlib import Path

import pytest

from tests.pipeline.conftest import Workspace

pytestmark = pytest.mark.slow

WRONG = "return (sum(across[..., i : i + rows, :] for i in range(3)) - inside + 1).contiguous()"
RIGHT = "return (sum(across[..., i : i + rows, :] for i in range(3)) - inside).contiguous()"


def to_the_operator(workspace: Workspace) -> None:
    """Run once, then let a person's approval lead to the operator whatever the verdict is."""
    assert workspace.first_run().returncode == 0
    verdict = workspace.result("check_support")["verdict"]
    workspace.approve("check_support", verdict, "build_operator")


def parent_runs_are_closed(workspace: Workspace) -> bool:
    """Whether no run of the store is still open."""
    client = workspace.client()
    ids = [e.experiment_id for e in client.search_experiments()]
    return all(r.info.status != "RUNNING" for r in client.search_runs(ids, max_results=5000))


def edit(path: Path, old: str, new: str) -> None:
    """Replace text that must be there."""
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def test_each_way_back_ends_in_a_model(fresh: Workspace) -> None:
    """A wrong, a crashing and a non-compiling operator are each refused, and the path goes on."""
    to_the_operator(fresh)
    standard = fresh.result("check_support")["implementation"]
    operator = fresh.doors.operator / "op.py"

    edit(operator, RIGHT, WRONG)
    ended = fresh.run()
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert fresh.result("validate_numerics")["verdict"] == "rejected"
    assert fresh.result("embed_operator")["status"] == "not_taken"
    assert fresh.result("validate_numerics")["implementation"] == standard
    assert fresh.result("record_decision")["has_model"]

    edit(operator, WRONG, "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    ended = fresh.run()
    assert ended.returncode == 0, ended.stdout + ended.stderr
    numerics = fresh.result("validate_numerics")
    assert numerics["verdict"] == "rejected"
    assert any("SIGSEGV" in check["detail"] for check in numerics["checks"])

    sources = fresh.doors.operator / "csrc"
    sources.mkdir()
    (sources / "neighbour_count.cpp").write_text("int broken( {\n")
    ended = fresh.run()
    assert ended.returncode == 0, ended.stdout + ended.stderr
    build = fresh.result("build_operator")
    assert build["verdict"] == "failed"
    assert "neighbour_count.cpp:1" in build["error"]
    assert fresh.result("validate_numerics")["status"] == "not_taken"
    assert fresh.result("record_decision")["has_model"]
    assert parent_runs_are_closed(fresh)


def test_a_right_operator_goes_through_to_the_graph(fresh: Workspace) -> None:
    """An accepted operator reaches the embedding, which judges the gain on its own evidence."""
    to_the_operator(fresh)
    ended = fresh.run()
    assert ended.returncode == 0, ended.stdout + ended.stderr
    numerics = fresh.result("validate_numerics")
    assert [c["detail"] for c in numerics["checks"] if not c["passed"]] == []
    assert numerics["verdict"] == "accepted"
    assert fresh.result("embed_operator")["status"] == "done"
    assert fresh.result("record_decision")["has_model"]


def test_memory_that_fits_nowhere_ends_in_a_record_without_a_model(fresh: Workspace) -> None:
    """The run ends well, says impossible, and no training process was started."""
    assert fresh.first_run().returncode == 0
    ended = fresh.run(infrastructure__device_memory_gib=1e-6)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert fresh.result("probe_scaling")["verdict"] == "impossible"
    for stage in ("train_single", "train_distributed", "produce_model"):
        assert fresh.result(stage)["status"] == "not_taken"
    assert not fresh.result("record_decision")["has_model"]


def test_refused_data_stops_the_run_with_every_finding(fresh: Workspace) -> None:
    """Two faulty cases are both named, the exit status is 1, and no later stage ran."""
    labels = sorted((fresh.doors.data / "labelsTr").iterdir())
    labels[0].unlink()
    labels[3].write_bytes(labels[3].read_bytes()[:40])
    ended = fresh.first_run()
    assert ended.returncode == 1
    for label in (labels[0], labels[3]):
        assert label.stem in ended.stdout + ended.stderr
    assert not (fresh.path / "reports/check_support").exists()
    assert parent_runs_are_closed(fresh)
