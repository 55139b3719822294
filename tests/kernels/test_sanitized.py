"""Watching operators for faults of memory and arithmetic."""

from pathlib import Path

import pytest

from kernels.build import BuildFailed
from kernels.folder import BUNDLED, OperatorFolder, open_operator
from kernels.sanitized import Watched, watch
from kernels.sanitized.report import read_report
from stages.numerics.sanitizing import check_sanitizers

FILES = {
    "spec.py": """
from kernels.operator import OperatorSpec, Tolerance
SPEC = OperatorSpec(
    name="faulty", summary="twice", schemas=("breakeven_test_faulty::faulty(Tensor x) -> Tensor",),
    contexts=("inference_graph",), claim="latency", is_differentiable=False, dtypes=("float32",),
    num_spatial_dims=(1,), tolerances={"default": Tolerance(0.0, 1e-6, "for the test")},
    bytes_per_voxel=8, flops_per_voxel=1, source="the test",
)
""",
    "reference.py": "def reference(x):\n    return 2 * x\n",
    "standard.py": "COMPOSITIONS = ()\n",
    "cases.py": """
import torch
from kernels.operator import OperatorCase
CASES = (
    OperatorCase("none", lambda: ((torch.zeros(0),), {})),
    OperatorCase("five", lambda: ((torch.arange(5.0),), {})),
)
""",
    "op.py": """
from pathlib import Path
import torch
from kernels.load import ensure_loaded
ensure_loaded(Path(__file__).parent, "breakeven_test_faulty", "faulty")
def faulty(x):
    return torch.ops.breakeven_test_faulty.faulty(x)
""",
    "csrc/faulty.cpp": """
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

#include <climits>
#include <cstdlib>
#include <string_view>
#include <vector>

using torch::stable::Tensor;

Tensor faulty(const Tensor& given) {
  const char* const variable = std::getenv("BREAKEVEN_TEST_FAULT");
  const std::string_view fault = variable == nullptr ? "" : variable;
  const Tensor x = fault == "layout" ? given : torch::stable::contiguous(given);
  Tensor y = torch::stable::empty_like(x);
  const auto* const from = static_cast<const float*>(x.const_data_ptr());
  auto* const to = static_cast<float*>(y.mutable_data_ptr());
  const int size = static_cast<int>(x.numel());
  for (int i = 0; i < size; ++i) {
    to[i] = 2 * from[i];
  }
  if (size == 0) {
    return y;
  }
  if (fault == "write") {
    to[size] = 0;  // PLANTED WRITE
  }
  if (fault == "overflow") {
    to[0] += static_cast<float>(INT_MAX - 3 + size);  // PLANTED OVERFLOW
  }
  if (fault == "index") {
    to[0] += std::vector<float>(size)[size];
  }
  while (fault == "hang") {
  }
  return y;
}

STABLE_TORCH_LIBRARY_FRAGMENT(breakeven_test_faulty, m) {
  m.def("faulty(Tensor x) -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(breakeven_test_faulty, CPU, m) {
  m.impl("faulty", TORCH_BOX(&faulty));
}
""",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the operator and its sanitized library lie; it is built once."""
    return tmp_path_factory.mktemp("sanitized")


@pytest.fixture(scope="module")
def faulty(place: Path) -> OperatorFolder:
    """An operator that is right unless $BREAKEVEN_TEST_FAULT names a fault."""
    for name, text in FILES.items():
        path = place / "faulty" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return open_operator(place / "faulty")


def line_of(mark: str) -> int:
    """The number of the line with this comment."""
    return 1 + next(
        i for i, line in enumerate(FILES["csrc/faulty.cpp"].split("\n")) if mark in line
    )


def test_right_operator_has_no_finding(faulty: OperatorFolder, place: Path) -> None:
    """Two cases in six layouts, with one and two threads; and in one dtype, with one thread."""
    watched = watch(faulty, place / "built")
    assert watched.finding is None, watched.finding
    assert (watched.num_cases, watched.num_calls, watched.levels) == (2, 26, ("",))


def find(
    faulty: OperatorFolder, place: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> tuple[Watched, str]:
    """Watch the operator with a fault; the finding in words."""
    monkeypatch.setenv("BREAKEVEN_TEST_FAULT", fault)
    watched = watch(faulty, place / "built", time_limit_s=10 if fault == "hang" else 300)
    assert watched.finding is not None
    return watched, str(watched.finding)


def test_write_out_of_bounds_is_found(
    faulty: OperatorFolder, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The finding names the kind of access, the operator's line, and the call."""
    watched, words = find(faulty, place, monkeypatch, "write")
    assert words == (
        f"heap-buffer-overflow, a write of 4 bytes at csrc/faulty.cpp:{line_of('PLANTED WRITE')}, "
        "in the call: five, as given, one instruction set, 1 threads"
    )
    assert watched.finding is not None
    assert "AddressSanitizer" in watched.finding.report


def test_signed_overflow_is_found(
    faulty: OperatorFolder, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arithmetic without a defined result is a finding, with its line."""
    _, words = find(faulty, place, monkeypatch, "overflow")
    assert words.startswith("signed integer overflow: 5 + 2147483644 cannot be represented in type")
    assert f"at csrc/faulty.cpp:{line_of('PLANTED OVERFLOW')}, in the call: five, as given" in words


def test_full_examination_reports_the_finding_as_a_check(
    faulty: OperatorFolder, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Passed with the number of calls; failed with the words of the fault."""
    right = check_sanitizers(faulty, 300.0, place / "built")
    assert (right.name, right.passed, right.num_cases) == ("sanitizers", True, 26)
    monkeypatch.setenv("BREAKEVEN_TEST_FAULT", "write")
    wrong = check_sanitizers(faulty, 300.0, place / "built")
    assert not wrong.passed
    assert wrong.detail.startswith("heap-buffer-overflow, a write of 4 bytes")


@pytest.mark.parametrize(
    ("fault", "words", "call"),
    [
        ("layout", "wrong result: result: ", "five, strided"),
        ("index", "standard library: __n < this->size() at csrc/faulty.cpp:", "five, as given"),
        # how far a busy machine comes in that time is open
        ("hang", "the calls took longer than 10 s and were ended", ""),
    ],
)
def test_other_faults_are_found(
    faulty: OperatorFolder,
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    fault: str,
    words: str,
    call: str,
) -> None:
    """A layout that is read wrongly, an index out of range, a hang: each has its words."""
    watched, said = find(faulty, place, monkeypatch, fault)
    assert words in said
    assert watched.finding is not None
    assert (watched.finding.call or "").startswith(call)


def test_what_cannot_be_watched_is_refused(
    faulty: OperatorFolder, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A compiler without sanitizers is named, and what to do."""
    clang = place / "clang++"
    clang.write_text("#!/bin/sh\necho clang version 19.1.0\n")
    clang.chmod(0o755)
    monkeypatch.setenv("CXX", str(clang))
    with pytest.raises(BuildFailed, match=r"expected g\+\+ for a build with sanitizers, got clang"):
        watch(faulty, place / "built")


def test_report_without_a_fault_says_nothing() -> None:
    """Warnings and the like are no finding."""
    assert read_report("UserWarning: something\n", ()) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(spec.parent.name for spec in BUNDLED.glob("*/spec.py")))
def test_bundled_operator_has_no_finding(name: str) -> None:
    """Every case, layout, dtype, instruction set and gradient is free of faults."""
    watched = watch(open_operator(name))
    assert watched.finding is None, f"{watched.finding}\n{watched.finding.report}"
    assert watched.num_calls > watched.num_cases > 0
