"""Building an operator's library: what counts as content, what is kept, what a failure says."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from build_folders import PLAIN_SOURCE, SOURCE, WatchedCompiler, make_folder

from kernels.build import BuildFailed, Built, build, undefined_torch_symbols
from kernels.folder import OperatorFolder, open_operator


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[OperatorFolder, Path, Built]:
    """A folder, its build directory with the litter of killed builds, and the first build."""
    folder = make_folder(tmp_path_factory.mktemp("operators") / "same", same=SOURCE)
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
    assert 0 < first.compile_s <= first.seconds


def test_same_content_is_not_compiled_twice(built: tuple[OperatorFolder, Path, Built]) -> None:
    """A second build finds the first one's library."""
    folder, directory, first = built
    second = build(folder, directory)
    assert second.was_cached
    assert (second.library, second.key) == (first.library, first.key)
    assert second.compile_s == first.compile_s


@pytest.mark.parametrize("header", ["same.h", "same.hpp", "device.cuh", "parts/same.inc"])
def test_header_change_changes_the_key(tmp_path: Path, header: str) -> None:
    """Headers count as content too; a folder's place does not."""
    directory = tmp_path / "built"
    first = build(make_folder(tmp_path / "one" / "same"), directory)
    moved = make_folder(tmp_path / "other" / "same")
    assert build(moved, directory).key == first.key
    path = moved.path / "csrc" / header
    path.parent.mkdir(exist_ok=True)
    path.write_text("// a header\n")
    assert build(moved, directory).key != first.key


def test_flags_are_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Flags of one's own make another library."""
    folder, directory = make_folder(tmp_path / "same"), tmp_path / "built"
    first = build(folder, directory)
    monkeypatch.setenv("BREAKEVEN_CXXFLAGS", "-march=native -DX='a b'")
    second = build(folder, directory)
    assert not second.was_cached
    assert second.key != first.key


def test_damaged_library_is_built_again(tmp_path: Path) -> None:
    """Cut short, edited, without its record or with another's: it is not whole, and not used."""
    folder, directory = make_folder(tmp_path / "same"), tmp_path / "built"
    library = build(folder, directory).library
    whole, record = library.read_bytes(), library.with_name(f"{library.name}.json")
    recorded = record.read_text()

    def damage_record(text: str) -> None:
        record.write_text(text)

    for damage in (
        lambda: library.write_bytes(whole[: len(whole) // 2]),
        lambda: library.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1])),
        lambda: record.unlink(),
        lambda: damage_record("{"),
        lambda: damage_record(recorded.replace('"key": "', '"key": "0')),
    ):
        damage()
        assert not build(folder, directory).was_cached
        assert library.read_bytes() == whole
        assert build(folder, directory).was_cached


def test_source_that_changes_while_it_is_compiled_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A library of the new text under the old text's key would be stale for ever."""
    folder, directory = make_folder(tmp_path / "same"), tmp_path / "built"
    source = folder.sources[0]
    compiler = WatchedCompiler(tmp_path / "watched", f"echo 'int more;' >> {source}")
    monkeypatch.setenv("CXX", str(compiler.path))
    with pytest.raises(BuildFailed, match="same: a source changed while it was compiled"):
        build(folder, directory)
    assert not list(directory.glob("*.so"))


def test_header_that_is_no_content_is_refused(tmp_path: Path) -> None:
    """A change in a file from elsewhere would leave a stale library: it may not be included."""
    folder = make_folder(tmp_path / "same", same='#include "../../far.h"\n' + PLAIN_SOURCE)
    (tmp_path / "far.h").write_text("#pragma once\n")
    with pytest.raises(BuildFailed, match=r"same: same includes \S*/far\.h, a change of which"):
        build(folder, tmp_path / "built")


def test_warnings_are_counted_also_from_the_cache(tmp_path: Path) -> None:
    """The number of warnings belongs to the library, whoever compiled it."""
    unused = "void f() { int nothing; double neither; }\n"
    folder = make_folder(tmp_path / "same", same=unused)
    assert build(folder, tmp_path / "built").num_warnings == 2
    second = build(folder, tmp_path / "built")
    assert (second.was_cached, second.num_warnings) == (True, 2)


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


def test_failure_quotes_file_and_line_of_every_source(tmp_path: Path) -> None:
    """The message leads to the faulty lines; the log has the commands; nothing else is left."""
    folder = make_folder(
        tmp_path / "broken",
        one="int f() {\n  return nothing;\n}\n",
        other="int g() { return 1; }\n\nint h( { }\n",
        right=PLAIN_SOURCE,
    )
    with pytest.raises(BuildFailed, match=r"broken: 2 errors: .*one\.cpp:2:10: error") as raised:
        build(folder, tmp_path / "built")
    assert [error.split("csrc/")[1][:12] for error in raised.value.errors] == [
        "one.cpp:2:10",
        "other.cpp:3:",
    ]
    log = raised.value.log
    assert log is not None
    assert f"log: {log}" in str(raised.value)
    assert f"-c {folder.path}/csrc/other.cpp" in log.read_text()
    assert list((tmp_path / "built").iterdir()) == [log]


def test_success_removes_the_log_of_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log is of the last attempt: it goes when the same content builds."""
    folder, directory = make_folder(tmp_path / "same"), tmp_path / "built"
    broken = WatchedCompiler(tmp_path / "watched", "echo out of memory; exit 3")
    monkeypatch.setenv("CXX", str(broken.path))
    with pytest.raises(BuildFailed, match=r"same: watched ended with status 3:\nout of memory"):
        build(folder, directory)
    assert list(directory.glob("*.log"))
    monkeypatch.delenv("CXX")
    build(folder, directory)
    assert not list(directory.glob("*.log"))


def test_many_errors_are_counted_and_cut(tmp_path: Path) -> None:
    """Ten are quoted, and how many more there are is said."""
    lines = "".join(f"int f{i}() {{ return no{i}; }}\n" for i in range(13))
    with pytest.raises(BuildFailed, match=r"same: 13 errors: [\s\S]*no9[\s\S]*\nand 3 more\nlog"):
        build(make_folder(tmp_path / "same", same=lines), tmp_path / "built")


def test_missing_symbol_is_named_when_linking(tmp_path: Path) -> None:
    """What nobody defines fails the build, not the first load on another machine."""
    source = "int nowhere(int);\nint f() { return nowhere(1); }\n"
    with pytest.raises(BuildFailed, match=r"same: 1 error: .*undefined reference to .nowhere"):
        build(make_folder(tmp_path / "same", same=source), tmp_path / "built")


def test_symbol_defined_twice_is_named_when_linking(tmp_path: Path) -> None:
    """Two sources of one operator may not define one function."""
    folder = make_folder(tmp_path / "same", one=PLAIN_SOURCE, other=PLAIN_SOURCE)
    with pytest.raises(BuildFailed, match=r"same: 1 error: .*multiple definition of .twice"):
        build(folder, tmp_path / "built")


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
    """A build past its limit is stopped and leaves nothing but its log."""
    folder = make_folder(tmp_path / "slow", slow=SOURCE)
    with pytest.raises(BuildFailed, match=r"slow: the build took longer than 0\.01 s"):
        build(folder, tmp_path / "built", time_limit_s=0.01)
    assert [left.suffix for left in (tmp_path / "built").iterdir()] == [".log"]


def test_unwritable_cache_falls_back_to_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cache folder that cannot be made does not stop the build; a chosen one does."""
    folder, blocked = make_folder(tmp_path / "same"), tmp_path / "file"
    blocked.write_text("")
    monkeypatch.delenv("BREAKEVEN_BUILD_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert tmp_path.resolve() in build(folder).library.parents
    monkeypatch.setenv("BREAKEVEN_BUILD_DIR", str(blocked / "chosen"))
    with pytest.raises(BuildFailed, match="cannot be created"):
        build(folder)


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
