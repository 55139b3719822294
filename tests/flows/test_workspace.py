"""A workspace of its own: complete, apart from the clone, and watched file by file."""

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from flows.dvc import CLONE
from flows.lock import workspace_lock
from flows.params_file import change_parameters
from flows.pipeline import render_pipeline
from flows.workspace import check_place, create_if_absent, find_workspace, prepare
from stages.contract import InputError


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    path = tmp_path / "my work"
    assert create_if_absent(path)
    change_parameters(path)
    return path


def dependencies(workspace: Path, stage: str) -> list[str]:
    pipeline = yaml.safe_load((workspace / "dvc.yaml").read_text("utf-8"))
    return list(pipeline["stages"][stage]["deps"])


def test_first_use_makes_it_under_git_and_dvc_and_touches_the_clone_nowhere(tmp_path: Path) -> None:
    """Parameters, approvals and expectations are its own; a second use leaves all as it is."""

    def clone_status() -> str:
        return subprocess.run(
            ["git", "-C", str(CLONE), "status", "--porcelain", "data", "params.yaml", "dvc.yaml"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    before = clone_status()
    workspace = tmp_path / "w"
    assert create_if_absent(workspace)
    for name in (
        "params.yaml",
        "approvals.yaml",
        ".gitignore",
        ".dvcignore",
        ".git",
        ".dvc/config",
    ):
        assert (workspace / name).exists(), name
    (workspace / "params.yaml").write_text("mine: true\n", "utf-8")
    assert not create_if_absent(workspace)
    assert (workspace / "params.yaml").read_text("utf-8") == "mine: true\n"
    assert clone_status() == before


def test_code_is_watched_file_by_file_in_the_clone(workspace: Path) -> None:
    """A folder of code becomes its files, without byte code, once each; data stays as named."""
    render_pipeline(workspace)
    found = dependencies(workspace, "build_operator")
    operator = CLONE / "kernels" / "distance_transform"
    assert str(operator / "spec.py") in found
    assert str(operator / "csrc" / "distance_transform.cpp") in found
    assert str(CLONE / "stages" / "contract" / "graph.py") in found
    assert not [dep for dep in found if dep.endswith(".pyc") or "__pycache__" in dep]
    assert len(found) == len(set(found))
    assert "${data.source}" in dependencies(workspace, "ingest_data")


def test_every_file_of_the_clones_folders_is_covered(workspace: Path) -> None:
    """Nothing that the clone's own pipeline watches is lost on the way."""
    render_pipeline(workspace)
    pipeline = yaml.safe_load((CLONE / "dvc.yaml").read_text("utf-8"))["stages"]
    for name, stage in pipeline.items():
        if "deps" in stage:
            folders = [dep for dep in stage["deps"] if dep.startswith(("stages/", "kernels/"))]
            wanted = {str(file) for dep in folders for file in (CLONE / dep).rglob("*.py")}
            assert wanted <= set(dependencies(workspace, name)), name


def test_the_operator_in_the_parameters_is_the_one_watched(workspace: Path, tmp_path: Path) -> None:
    """Another operator, another list; a folder that is not there is refused with its key."""
    change_parameters(workspace, operator="connected_components")
    render_pipeline(workspace)
    bundled = CLONE / "kernels" / "connected_components" / "spec.py"
    assert str(bundled) in dependencies(workspace, "build_operator")
    own = tmp_path / "own_operator"
    shutil.copytree(CLONE / "tests" / "doors" / "neighbour_count", own)
    change_parameters(workspace, operator=str(own))
    render_pipeline(workspace)
    found = dependencies(workspace, "build_operator")
    assert str(own / "spec.py") in found
    assert str(bundled) not in found
    shutil.rmtree(own)
    with pytest.raises(InputError, match=r"algorithm\.operator: expected a file or folder"):
        render_pipeline(workspace)


def test_rendering_again_changes_nothing_and_a_pipeline_of_ones_own_is_kept(
    workspace: Path,
) -> None:
    """DVC sees a change only where there is one."""
    prepare(workspace)
    written = (workspace / "dvc.yaml").stat().st_mtime_ns
    prepare(workspace)
    assert (workspace / "dvc.yaml").stat().st_mtime_ns == written
    (workspace / "dvc.yaml").write_text("stages: {}\n", "utf-8")
    prepare(workspace)
    assert (workspace / "dvc.yaml").read_text("utf-8") == "stages: {}\n"


def test_the_clone_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the command is given; a stated folder is taken from there."""
    monkeypatch.chdir(tmp_path)
    assert find_workspace(None) == CLONE
    assert (CLONE / "dvc.yaml").is_file()
    assert find_workspace(Path("here")) == tmp_path / "here"


def test_a_folder_of_someone_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    """Whatever it holds; an empty one is taken."""
    other = tmp_path / "other"
    (other / "data").mkdir(parents=True)
    for refuse in (check_place, create_if_absent):
        with pytest.raises(InputError, match=r"new or empty folder, or a workspace, found data"):
            refuse(other)
    assert [path.name for path in other.iterdir()] == ["data"]
    (other / "data").rmdir()
    check_place(other)


@pytest.mark.parametrize("number_left", [0, 2, 4])
def test_an_interrupted_creation_is_completed(workspace: Path, number_left: int) -> None:
    """From what the lock leaves on; what a person wrote meanwhile stays."""
    with workspace_lock(workspace):
        pass
    made = [".git", "params.yaml", "approvals.yaml", "data", ".dvc"]
    for name in made[number_left:]:
        path = workspace / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    (workspace / ".gitignore").write_text("/mine\n")
    assert create_if_absent(workspace)
    assert not create_if_absent(workspace)
    assert all((workspace / name).exists() for name in made)
    assert (workspace / "data" / "phantom.yaml").is_file()
    assert list((workspace / "data" / "expectations").rglob("*.json"))
    assert (workspace / ".gitignore").read_text() == "/mine\n"


def test_a_workspace_keeps_its_own_dvc_settings(workspace: Path) -> None:
    """Such as a remote that a person added."""
    config = workspace / ".dvc" / "config"
    config.write_text(config.read_text() + "['remote \"store\"']\n    url = /mnt/store\n")
    assert not create_if_absent(workspace)
    assert "/mnt/store" in config.read_text()


def test_lost_parameters_are_not_replaced_by_defaults(workspace: Path) -> None:
    """They would be another question than the one that the results answer."""
    (workspace / "params.yaml").unlink()
    with (
        workspace_lock(workspace),
        pytest.raises(InputError, match=r"expected params\.yaml, found"),
    ):
        create_if_absent(workspace)
    assert not (workspace / "params.yaml").exists()


def test_a_path_that_cannot_be_a_workspace_is_refused(tmp_path: Path) -> None:
    """A file, a home of nobody, and a place where nothing can be made."""
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="expected a folder, found a file at"):
        find_workspace(tmp_path / "file")
    with pytest.raises(InputError, match="--workspace: ~nobody_of_this_name"):
        find_workspace(Path("~nobody_of_this_name/w"))
    for place in (tmp_path / "file" / "w", Path("/proc/w")):
        with (
            pytest.raises(InputError, match=r"that can be written.*give another with --workspace"),
            workspace_lock(place),
        ):
            pass
