"""D's build, of sources that compile and of sources that do not."""

import shutil
from pathlib import Path

import pytest
import torch
from operator_folders import write_operator
from tiny_job import make_workspace

from stages.build_operator import build_operator
from stages.contract import (
    BuildResult,
    BuildStatus,
    BuildVerdict,
    Implementation,
    Rung,
    Stage,
    folder,
    load_settings,
)

STANDARD = Implementation(rung=Rung.standard, name="sum")
needs_nvcc = pytest.mark.skipif(
    not shutil.which("nvcc") and not Path("/usr/local/cuda/bin/nvcc").exists(),
    reason="nvcc is not installed",
)
SOURCE = 'extern "C" int twice(int x) { return 2 * x; }\n'


def build(
    place: Path,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    sources: str | None,
    cuda: str | None = None,
    device: str = "cpu",
) -> BuildResult:
    """Write an operator, build it in a workspace of its own."""
    operator = write_operator(place / name, "return x * 2", sources)
    if cuda is not None:
        (operator / "csrc" / f"{name}.cu").write_text(cuda)
    workspace = place / "workspace"
    workspace.mkdir()
    chosen = {"algorithm": {"operator": str(operator)}, "infrastructure": {"device": device}}
    make_workspace(workspace, root, monkeypatch, STANDARD, **chosen)
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
    assert result.reason.endswith("CUDA: not tried, twice_built has no csrc/*.cu.")
    cpu, cuda = result.devices
    assert (cpu.status, cpu.is_in_library, cpu.num_warnings) == (BuildStatus.built, True, 0)
    assert (cuda.status, cuda.is_in_library) == (BuildStatus.not_tried, False)


def test_binary_off_the_stable_abi_is_built_and_says_what_ties_it(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An operator that calls ATen serves; the result names the symbols and what they cost."""
    source = "namespace at { int get_num_threads(); }\nint f() { return at::get_num_threads(); }\n"
    result = build(tmp_path, root, monkeypatch, "twice_tied", source)
    assert (result.verdict, result.next) == (BuildVerdict.built, Stage.validate_numerics)
    assert result.undefined_symbols == ("at::get_num_threads()",)
    assert "not on the stable ABI, 1 undefined ATen or c10 symbol" in result.reason
    assert f"tied to torch {torch.__version__}" in result.reason


@needs_nvcc
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_failing_cuda_matters_to_a_job_on_cuda_alone(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch, device: str
) -> None:
    """CPU and CUDA are told apart; the verdict is that of the job's device."""
    name = f"twice_on_{device}"
    faulty = "__global__ void f(int* x) { *x = nothing; }\n"
    result = build(tmp_path, root, monkeypatch, name, SOURCE, faulty, device)
    cpu, cuda = result.devices
    assert (cpu.status, cuda.status) == (BuildStatus.built, BuildStatus.failed)
    assert f'{name}.cu(1): error: identifier "nothing" is undefined' in cuda.errors[0]
    if device == "cpu":
        assert (result.verdict, result.library) == (BuildVerdict.built, f"{name}.so")
        assert "CUDA: failed" in result.reason
    else:
        assert (result.verdict, result.library) == (BuildVerdict.failed, None)
        assert f"{name} does not build here for cuda" in result.reason
        assert result.error == cuda.detail


@needs_nvcc
def test_cuda_compiles_where_it_cannot_run(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a GPU the CUDA sources are compiled, not linked, and the result says so."""
    source = "__global__ void f(int* x) { *x = 1; }\n"
    result = build(tmp_path, root, monkeypatch, "twice_cuda", SOURCE, source)
    cuda = result.devices[1]
    assert (cuda.status, cuda.num_warnings, cuda.errors) == (BuildStatus.built, 0, ())
    assert "for sm_80" in cuda.detail
    if torch.version.cuda is None:
        assert not cuda.is_in_library
        assert f"not linked: this torch, {torch.__version__}, is without CUDA" in cuda.detail


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
