"""D's build, of sources that compile and of sources that do not."""

from pathlib import Path

import pytest
from operator_folders import write_operator
from tiny_job import make_workspace

from stages.build_operator import build_operator
from stages.contract import (
    BuildResult,
    BuildVerdict,
    Implementation,
    Rung,
    Stage,
    folder,
    load_settings,
)

STANDARD = Implementation(rung=Rung.standard, name="sum")
SOURCE = 'extern "C" int twice(int x) { return 2 * x; }\n'


def build(
    place: Path, root: Path, monkeypatch: pytest.MonkeyPatch, name: str, sources: str | None
) -> BuildResult:
    """Write an operator, build it in a workspace of its own."""
    operator = write_operator(place / name, "return x * 2", sources)
    workspace = place / "workspace"
    workspace.mkdir()
    make_workspace(workspace, root, monkeypatch, STANDARD, algorithm={"operator": str(operator)})
    monkeypatch.setenv("BREAKEVEN_BUILD_DIR", str(place / "built"))
    return build_operator(load_settings(Stage.build_operator))


def test_sources_become_a_library(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library lies in the stage's folder under the operator's name, with its hash."""
    result = build(tmp_path, root, monkeypatch, "twice_built", SOURCE)
    assert (result.verdict, result.next) == (BuildVerdict.built, Stage.validate_numerics)
    assert (folder(Stage.build_operator) / "twice_built.so").is_file()
    assert result.library == "twice_built.so"
    assert len(result.library_hash or "") == 64
    assert result.undefined_symbols == ()
    assert "no undefined ATen" in result.reason


def test_failed_build_goes_the_cheaper_way(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The compiler's first error is kept, and the standard form carried on with."""
    result = build(tmp_path, root, monkeypatch, "twice_faulty", "int twice( { return 2; }\n")
    assert (result.verdict, result.next) == (BuildVerdict.failed, Stage.probe_budget)
    assert result.implementation == STANDARD
    assert result.library is None
    assert "error" in str(result.error)
    assert "the path goes on with standard sum" in result.reason


def test_python_operator_needs_no_build(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without sources there is nothing to compile, and validation follows."""
    result = build(tmp_path, root, monkeypatch, "twice_python", None)
    assert (result.verdict, result.form) == (BuildVerdict.built, "python")
    assert result.next is Stage.validate_numerics
    assert not list(folder(Stage.build_operator).glob("*.so"))
