"""CUDA sources compile without a GPU, and keep the rules that a compiler does not know."""

import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cuda_rules import faults

import kernels.build.cuda
from kernels.build import CudaBuilt, CudaNotBuilt, compile_cuda
from kernels.folder import BUNDLED, open_operator

NATIVE = BUNDLED / "native"
SOURCES = sorted(BUNDLED.glob("*/csrc/*.cu"))
PASSES = sorted([*BUNDLED.glob("*/csrc/*_passes.h"), *NATIVE.glob("*_passes.h")])
COMPILED_FOR = (90,)
"""One architecture: each takes as long again, and a build compiles for all."""

LAUNCH = NATIVE / "cuda_launch.h"
COMPONENTS = BUNDLED / "connected_components" / "csrc" / "connected_components.cu"
LABELS = BUNDLED / "connected_components" / "csrc" / "label_passes.h"
SCAN = NATIVE / "scan_passes.h"
MUTANTS = (
    (LAUNCH, "accelerator::DeviceGuard guard_;", "int guard_;"),
    (LAUNCH, "guard_(tensor.get_device_index())", "guard_(0)"),
    (LAUNCH, "get_current_cuda_stream(tensor.get_device_index()", "get_current_cuda_stream(0"),
    (LAUNCH, "kFlatThreads, 0, stream_>>>", "kFlatThreads>>>"),
    (LAUNCH, "    STD_CUDA_KERNEL_LAUNCH_CHECK();\n", ""),
    (LAUNCH, "if (count == 0)", "if (count < 0)"),
    (LAUNCH, "static_cast<int64_t>(blockIdx.x) *", "blockIdx.x *"),
    (LAUNCH, "const int64_t stride = static_cast<int64_t>(gridDim.x)", "int stride = gridDim.x"),
    (COMPONENTS, "const CudaLauncher launch(mask);", "const CudaLauncher launch = shared;"),
    (COMPONENTS, "check_connected_components(", "describe("),
    (COMPONENTS, "launch.flat(finish, rows);", "run_flat<<<1, 1>>>(finish, rows);"),
    (COMPONENTS, "STABLE_TORCH_LIBRARY_IMPL", "// m.impl("),
    (LABELS, "void operator()(int64_t index)", "void operator()(int index)"),
    (LABELS, "atomic_load(parents + slot)", "atomicAdd(parents + slot, 0)"),
    (SCAN, "int64_t block, int thread", "int block, int thread"),
)


@pytest.mark.parametrize("path", [*SOURCES, *PASSES, LAUNCH], ids=lambda path: path.name)
def test_cuda_code_keeps_the_rules(path: Path) -> None:
    """Device guard, current stream, launch check, early return, 64-bit indices, checked input."""
    assert faults(path) == []


@pytest.mark.parametrize(("path", "text", "broken"), MUTANTS)
def test_broken_rules_are_noticed(path: Path, text: str, broken: str, tmp_path: Path) -> None:
    """Each of the rules fails on a source that breaks it."""
    content = path.read_text()
    assert text in content
    mutant = tmp_path / path.name
    replaced = content.replace(text, broken)
    mutant.write_text(replaced if "IMPL" not in text else replaced.replace('m.impl("', '// ("'))
    assert faults(mutant) != []


@pytest.mark.slow
def test_operators_compile_for_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """nvcc takes all of them without a warning, and what comes out needs no ATen or c10 symbol."""
    monkeypatch.setattr(kernels.build.cuda, "ARCHITECTURES", COMPILED_FOR)
    operators = [open_operator(source.parents[1]) for source in SOURCES]
    with ThreadPoolExecutor(max_workers=2) as pool:
        built = list(pool.map(lambda operator: compile_cuda(operator, tmp_path), operators))
    for operator, result in zip(operators, built, strict=True):
        if isinstance(result, CudaNotBuilt) and not result.was_tried:
            pytest.skip(result.reason)
        assert isinstance(result, CudaBuilt), f"{operator.path.name}: {result}"
        assert result.num_warnings == 0
        assert _undefined_torch_symbols(result.object) == []


def _undefined_torch_symbols(file: Path) -> list[str]:
    nm = shutil.which("nm")
    assert nm is not None
    command = [nm, "-C", "--undefined-only", str(file)]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [line for line in listing.splitlines() if " at::" in line or " c10::" in line]
