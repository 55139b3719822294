"""Who builds what: several processes, killed ones, and file systems without locks."""

import errno
import fcntl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from build_folders import WatchedCompiler, make_folder

from kernels.build import BuildFailed, build
from kernels.folder import OperatorFolder

PROGRAM = """
import sys
from pathlib import Path
from kernels.build import build
from kernels.folder import OperatorFolder
print(build(OperatorFolder(Path(sys.argv[1]), "unused"), Path(sys.argv[2])).was_cached)
"""


@pytest.fixture
def slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WatchedCompiler]:
    """A compiler that takes minutes, as $CXX of every process that the test starts."""
    compiler = WatchedCompiler(tmp_path / "slow", "sleep 300")
    monkeypatch.setenv("CXX", str(compiler.path))
    yield compiler
    compiler.end()


def start_build(folder: OperatorFolder, directory: Path) -> subprocess.Popen[str]:
    """Build in a process of its own, which says whether it found the library there."""
    command = [sys.executable, "-c", PROGRAM, str(folder.path), str(directory)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_killed_build_holds_up_nobody(
    tmp_path: Path, slow: WatchedCompiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it lives, a waiting build gives up and names it; after kill -9 the next one builds."""
    folder, directory = make_folder(tmp_path / "same"), tmp_path / "built"
    with start_build(folder, directory) as holder:
        slow.wait_for_call()
        message = rf"process {holder.pid} is building it and was not done after \d s of waiting"
        with pytest.raises(BuildFailed, match=message):
            build(folder, directory, time_limit_s=0.2)
        holder.kill()
    monkeypatch.delenv("CXX")
    built = build(folder, directory)
    assert not built.was_cached
    left = sorted(path.name for path in directory.iterdir())
    assert left == [built.library.name, f"{built.library.name}.json"]


def test_two_processes_compile_a_content_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second waits for the first and takes what it made."""
    compiler = WatchedCompiler(tmp_path / "watched", "sleep 1")
    monkeypatch.setenv("CXX", str(compiler.path))
    folder, directory = make_folder(tmp_path / "same"), tmp_path / "built"
    with start_build(folder, directory) as first, start_build(folder, directory) as second:
        answers = [process.communicate(timeout=200)[0].strip() for process in (first, second)]
    assert sorted(answers) == ["False", "True"]
    assert len(compiler.pids) == 1


def test_lock_file_of_torch_means_nothing_here(tmp_path: Path, shared: Path) -> None:
    """What a killed build of torch's own extension loader leaves is not waited for."""
    script = shared / "cases" / "scripts" / "p07_stale_build_lock.py"
    directory = tmp_path / "built"
    subprocess.run([sys.executable, str(script), "same", str(directory)], check=True)
    assert (directory / "lock").is_file()
    assert build(make_folder(tmp_path / "same"), directory, time_limit_s=60).library.is_file()


def test_stale_lock_file_of_ours_means_nothing(tmp_path: Path) -> None:
    """A lock file whose holder is gone is taken over and removed."""
    folder, directory = make_folder(tmp_path / "same"), tmp_path / "built"
    library = build(folder, directory).library
    library.unlink()
    lock = library.with_name(f"{library.name}.lock")
    lock.write_text("1 elsewhere\n")
    assert not build(folder, directory).was_cached
    assert not lock.exists()


def test_file_system_without_locks_builds_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There every process builds under a name of its own and renames."""

    def refuse(*_: Any) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    folder, directory = make_folder(tmp_path / "same"), tmp_path / "built"
    built = build(folder, directory)
    assert not built.was_cached
    left = sorted(path.name for path in directory.iterdir())
    assert left == [built.library.name, f"{built.library.name}.json"]
