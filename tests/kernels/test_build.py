"""Building and loading an operator's library."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from kernels.build import BuildFailed, Built, build, undefined_torch_symbols
from kernels.folder import OperatorFolder, open_operator
from kernels.load import LibraryConflictError, load_library

SOURCE = """
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/tensor.h>

torch::stable::Tensor same(const torch::stable::Tensor& x) {
  return x;
}

STABLE_TORCH_LIBRARY_FRAGMENT(breakeven_test_build, m) {
  m.def("same(Tensor x) -> Tensor");
}
"""


def make_folder(path: Path, source: str = SOURCE) -> OperatorFolder:
    """An operator's folder with one source file; the build looks at nothing else."""
    (path / "csrc").mkdir(parents=True)
    (path / "csrc" / "same.cpp").write_text(source)
    return OperatorFolder(path, "unused")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[OperatorFolder, Path, Built]:
    """A folder, its build directory with the litter of killed builds, and the first build."""
    folder = make_folder(tmp_path_factory.mktemp("operators") / "same")
    directory = tmp_path_factory.mktemp("built")
    for litter in ("lock", ".same-0123456789abcdef.so.0123", "same.so"):
        (directory / litter).write_bytes(b"half a library")
    return folder, directory, build(folder, directory)


def test_first_build_compiles_beside_the_litter_of_killed_builds(
    built: tuple[OperatorFolder, Path, Built],
) -> None:
    """What a killed build leaves behind holds up nobody and is taken for nothing."""
    _, directory, first = built
    assert not first.was_cached
    assert first.library == directory / f"same-{first.key[:16]}.so"
    assert first.library.stat().st_size > len(b"half a library")


def test_same_content_is_not_compiled_twice(built: tuple[OperatorFolder, Path, Built]) -> None:
    """A second build finds the first one's library."""
    folder, directory, first = built
    second = build(folder, directory)
    assert second.was_cached
    assert (second.library, second.key) == (first.library, first.key)


def test_header_change_changes_the_key(
    built: tuple[OperatorFolder, Path, Built], tmp_path: Path
) -> None:
    """Headers count as content too; a folder's place does not."""
    _, directory, first = built
    moved = make_folder(tmp_path / "same")
    assert build(moved, directory).key == first.key
    (moved.path / "csrc" / "same.h").write_text("// a header\n")
    assert build(moved, tmp_path / "built").key != first.key


def test_stable_library_needs_no_aten_symbol(built: tuple[OperatorFolder, Path, Built]) -> None:
    """The audit finds nothing in a library that keeps to the stable ABI."""
    assert undefined_torch_symbols(built[2].library) == ()


def test_audit_finds_an_aten_symbol(tmp_path: Path) -> None:
    """The audit names an undefined `at::` function."""
    source = tmp_path / "uses.cpp"
    source.write_text("namespace at { int f(); } int g() { return at::f(); }")
    library = tmp_path / "uses.so"
    compiler = shutil.which("g++")
    assert compiler is not None
    subprocess.run([compiler, "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    assert undefined_torch_symbols(library) == ("at::f()",)


def test_audit_refuses_what_is_no_library(tmp_path: Path) -> None:
    """A file that nm cannot read is an error, not a clean audit."""
    text = tmp_path / "text.so"
    text.write_text("not a library")
    with pytest.raises(RuntimeError, match=r"text\.so: nm could not read it"):
        undefined_torch_symbols(text)


def test_failure_quotes_file_and_line(tmp_path: Path) -> None:
    """The message leads to the faulty line, and no half-made file is left behind."""
    folder = make_folder(tmp_path / "broken", "int f() {\n  return nothing;\n}\n")
    with pytest.raises(BuildFailed, match=r"broken: 1 error: .*same\.cpp:2:10: error"):
        build(folder, tmp_path / "built")
    assert [left.suffix for left in (tmp_path / "built").iterdir()] == [".log"]


def test_folder_without_sources_is_refused(tmp_path: Path) -> None:
    """An operator without C++ has nothing to build."""
    with pytest.raises(BuildFailed, match=r"expected at least one \.cpp file"):
        build(OperatorFolder(tmp_path, "unused"), tmp_path / "built")


def test_missing_compiler_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without g++ the message names the package."""
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BuildFailed, match=r"install g\+\+.*apt-get install g\+\+"):
        build(make_folder(tmp_path / "same"), tmp_path / "built")


def test_time_limit_stops_the_build(tmp_path: Path) -> None:
    """A build past its limit is stopped and leaves nothing."""
    folder = make_folder(tmp_path / "slow")
    with pytest.raises(BuildFailed, match=r"slow: the build took longer than 0\.01 s"):
        build(folder, tmp_path / "built", time_limit_s=0.01)
    assert [left.suffix for left in (tmp_path / "built").iterdir()] == [".log"]


def test_unwritable_cache_falls_back_to_temporary_files(
    built: tuple[OperatorFolder, Path, Built], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cache folder that cannot be made does not stop the build; a chosen one does."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.delenv("BREAKEVEN_BUILD_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert tmp_path.resolve() in build(built[0]).library.parents
    monkeypatch.setenv("BREAKEVEN_BUILD_DIR", str(blocked / "chosen"))
    with pytest.raises(BuildFailed, match="cannot be created"):
        build(built[0])


def test_second_load_is_harmless_and_another_library_is_refused(
    built: tuple[OperatorFolder, Path, Built], tmp_path: Path
) -> None:
    """The same library may be asked for again; one of other content would abort the process."""
    folder, _, first = built
    load_library(first.library, "breakeven_test_build", "same")
    load_library(first.library, "breakeven_test_build", "same")
    assert hasattr(torch.ops.breakeven_test_build, "same")
    other = make_folder(tmp_path / "same", SOURCE + "// changed\nint changed() { return 1; }\n")
    with pytest.raises(LibraryConflictError, match="registered already, by a library of other"):
        load_library(build(other, tmp_path / "built").library, "breakeven_test_build", "same")
    assert folder.sources


def test_library_that_registers_something_else_is_refused(
    built: tuple[OperatorFolder, Path, Built],
) -> None:
    """Loading the wrong library does not pass for success."""
    with pytest.raises(RuntimeError, match="did not register breakeven_test_build::other"):
        load_library(built[2].library, "breakeven_test_build", "other")


def test_spec_can_be_read_without_building(tmp_path: Path) -> None:
    """A result can name an operator's facts on a machine that has no compiler."""
    program = (
        "from kernels.folder import open_operator; import sys; "
        "print(open_operator(sys.argv[1]).spec.name, any(m.endswith('.op') for m in sys.modules))"
    )
    for spec in sorted(Path(open_operator("distance_transform").path).parent.glob("*/spec.py")):
        command = [sys.executable, "-c", program, spec.parent.name]
        answer = subprocess.run(command, capture_output=True, text=True, check=True)
        assert answer.stdout.split() == [spec.parent.name, "False"]
