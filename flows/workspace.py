"""A workspace: where parameters, results and stores live; the clone itself by default."""

import shutil
import subprocess
import sys
from pathlib import Path

from flows.dvc import CLONE, child_environment
from flows.failures import RunStoppedError
from flows.pipeline import render_pipeline
from stages.contract import APPROVALS, PARAMS, SCRATCH

_COPIED = (
    PARAMS,
    APPROVALS,
    Path(".dvcignore"),
    Path("data/expectations"),
)
_IGNORED = f"/reports/\n/{SCRATCH}/\n__pycache__/\n"


def find_workspace(folder: Path | None) -> Path:
    """The stated folder, else the clone."""
    return CLONE if folder is None else folder.expanduser().resolve()


def create_if_absent(workspace: Path) -> bool:
    """Make a workspace with parameters of its own, under Git and DVC.

    What exists is left as it is, so that an interrupted creation is completed.

    Returns:
        Whether it was made now.

    Raises:
        RunStoppedError: Git or DVC refused.
    """
    if workspace == CLONE or _is_complete(workspace):
        return False
    workspace.mkdir(parents=True, exist_ok=True)
    for source in (*_COPIED, *_recipes()):
        _copy(CLONE / source, workspace / source)
    if not (workspace / ".gitignore").exists():
        (workspace / ".gitignore").write_text(_IGNORED, "utf-8")
    if not (workspace / ".git").exists():
        _call(["git", "init", "--quiet"], workspace)
    if not (workspace / ".dvc" / "config").exists():
        _call([sys.executable, "-m", "dvc", "init", "--quiet", "--force"], workspace)
    shutil.copyfile(CLONE / ".dvc" / "config", workspace / ".dvc" / "config")
    return True


def prepare(workspace: Path) -> None:
    """Before each run: a workspace of its own gets its `dvc.yaml` from the clone's."""
    if workspace != CLONE:
        create_if_absent(workspace)
        render_pipeline(workspace)


def _is_complete(workspace: Path) -> bool:
    config = workspace / ".dvc" / "config"
    return (
        (workspace / PARAMS).is_file()
        and (workspace / ".git").exists()
        and config.is_file()
        and config.read_bytes() == (CLONE / ".dvc" / "config").read_bytes()
    )


def _recipes() -> list[Path]:
    """Recipes of embedded data, which `params.yaml` names relative to the workspace."""
    return [path.relative_to(CLONE) for path in sorted((CLONE / "data").glob("*.yaml"))]


def _copy(source: Path, target: Path) -> None:
    if target.exists() or not source.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copyfile(source, target)


def _call(command: list[str], workspace: Path) -> None:
    ended = subprocess.run(
        command, cwd=workspace, env=child_environment(), capture_output=True, text=True, check=False
    )
    if ended.returncode != 0:
        said = (ended.stderr or ended.stdout).strip()
        raise RunStoppedError(f"{workspace}: `{' '.join(command[-3:])}` failed: {said}")
