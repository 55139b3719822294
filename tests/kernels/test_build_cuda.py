"""Compiling CUDA sources; on a machine with a GPU, running them."""

import shutil
from pathlib import Path

import pytest
import torch

from kernels.build import CudaBuilt, CudaNotBuilt, build, compile_cuda
from kernels.folder import OperatorFolder
from kernels.load import load_library

TWICE = Path(__file__).parent / "twice"
needs_nvcc = pytest.mark.skipif(
    not shutil.which("nvcc") and not Path("/usr/local/cuda/bin/nvcc").exists(),
    reason="nvcc is not installed",
)


def copy_twice(place: Path) -> OperatorFolder:
    """A copy of the small operator, to be changed."""
    shutil.copytree(TWICE, place / "twice")
    return OperatorFolder(place / "twice", "unused")


def test_operator_without_cuda_sources_is_not_tried(tmp_path: Path) -> None:
    """There is nothing to compile, and that is no failure."""
    folder = copy_twice(tmp_path)
    (folder.path / "csrc" / "twice.cu").unlink()
    assert compile_cuda(folder, tmp_path) == CudaNotBuilt("twice has no csrc/*.cu")


def test_without_nvcc_it_is_not_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without the toolkit says so."""
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    answer = compile_cuda(copy_twice(tmp_path), tmp_path)
    assert isinstance(answer, CudaNotBuilt)
    assert not answer.was_tried
    assert "nvcc was not found" in answer.reason


@needs_nvcc
def test_cuda_compiles_without_a_gpu_once_per_content(tmp_path: Path) -> None:
    """One object with code for a GPU; a change of a header asks for another."""
    folder = copy_twice(tmp_path)
    first = compile_cuda(folder, tmp_path / "built")
    assert isinstance(first, CudaBuilt), first
    assert (first.was_cached, first.num_warnings) == (False, 0)
    assert "release" in first.compiler
    code = first.object.read_bytes()
    assert code.startswith(b"\x7fELF")
    assert b".nv_fatbin" in code
    second = compile_cuda(folder, tmp_path / "built")
    assert isinstance(second, CudaBuilt)
    assert (second.was_cached, second.object) == (True, first.object)
    (folder.path / "csrc" / "other.cuh").write_text("#pragma once\n#error not used\n")
    third = compile_cuda(folder, tmp_path / "built", time_limit_s=0.01)
    assert isinstance(third, CudaNotBuilt)
    assert "took longer than 0.01 s" in third.reason


@needs_nvcc
def test_cuda_error_is_quoted_and_leaves_the_cpu_alone(tmp_path: Path) -> None:
    """The reason names file and line; the library for the CPU is built all the same."""
    folder = copy_twice(tmp_path)
    source = folder.path / "csrc" / "twice.cu"
    source.write_text(source.read_text().replace("from[i]", "nothing[i]"))
    answer = compile_cuda(folder, tmp_path / "built")
    assert isinstance(answer, CudaNotBuilt)
    assert answer.was_tried
    assert len(answer.errors) == 1
    assert 'twice.cu(19): error: identifier "nothing" is undefined' in answer.errors[0]
    assert build(folder, tmp_path / "built").library.is_file()


def test_library_runs_on_every_device_it_was_built_for(tmp_path: Path) -> None:
    """On the CPU always; on a GPU where torch has CUDA and nvcc is there."""
    built = build(copy_twice(tmp_path), tmp_path / "built")
    load_library(built.library, "breakeven_test_twice", "twice")
    x = torch.arange(300.0)
    assert torch.equal(torch.ops.breakeven_test_twice.twice(x), 2 * x)
    if isinstance(built.cuda, CudaBuilt) and torch.cuda.is_available():
        assert torch.equal(torch.ops.breakeven_test_twice.twice(x.cuda()).cpu(), 2 * x)
    elif torch.version.cuda is None:
        assert "is without CUDA" in built.cuda.reason
