"""A workspace: where parameters, results and stores live; the clone itself by default."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from flows.dvc import CLONE, child_environment
from flows.failures import RunStoppedError
from flows.pipeline import render_pipeline
from stages.contract import APPROVALS, PARAMS, SCRATCH, InputError, write_text

_DVC_CONFIG = Path(".dvc/config")
_IGNORED = f"/reports/\n/{SCRATCH}/\n__pycache__/\n"


def find_workspace(folder: Path | None) -> Path:
    """The stated folder, else the clone.

    Raises:
        InputError: no folder can have this path.
    """
    if folder is None:
        return CLONE
    try:
        workspace = folder.expanduser().resolve()
        is_taken = workspace.exists() and not workspace.is_dir()
    except (OSError, RuntimeError) as error:  # no such home, a loop of links, too long a name
        raise InputError(f"--workspace: {folder}: {error}") from error
    if is_taken:
        raise InputError(f"--workspace: expected a folder, found a file at {workspace}")
    return workspace


def check_place(workspace: Path) -> None:
    """Refuse a folder that is neither a workspace nor to become one.

    Raises:
        InputError: it belongs to something else, or has lost its parameters.
    """
    if not workspace.is_dir():
        return
    try:
        found = sorted(path.name for path in workspace.iterdir())
    except OSError as error:
        raise InputError(f"--workspace: {workspace} cannot be read: {error.strerror}") from error
    if found and not is_workspace(workspace):
        raise InputError(
            f"--workspace: expected a new or empty folder, or a workspace, found "
            f"{', '.join(found[:5])}{', ...' if len(found) > 5 else ''} in {workspace}: "
            f"give another folder, such as {workspace / 'breakeven'}"
        )
    if PARAMS.name not in found and (workspace == CLONE or _is_under_dvc(workspace)):
        raise InputError(
            f"{workspace}: expected {PARAMS}, found none: restore it, by Git if it was committed"
            + ("" if workspace == CLONE else f", or copy {CLONE / PARAMS} to begin anew from that")
        )


def is_workspace(folder: Path) -> bool:
    """Whether a folder is ours, though its creation may have been interrupted.

    The folder of the lock comes before anything else, and a copy by Git comes without it.
    """
    is_copy = (folder / PARAMS).is_file() and _is_under_dvc(folder)
    return folder == CLONE or (folder / SCRATCH).is_dir() or is_copy


def create_if_absent(workspace: Path) -> bool:
    """Make a workspace with parameters of its own, under Git and DVC.

    What exists is left as it is, so that an interrupted creation is completed.

    Returns:
        Whether it was made now.

    Raises:
        InputError: the folder belongs to something else.
        RunStoppedError: Git or DVC refused.
    """
    check_place(workspace)
    if workspace == CLONE or _is_under_dvc(workspace):
        return False
    (workspace / SCRATCH).mkdir(parents=True, exist_ok=True)
    for source in _copied():
        if not (workspace / source).exists():
            write_text(workspace / source, (CLONE / source).read_text("utf-8"))
    if not (workspace / ".gitignore").exists():
        (workspace / ".gitignore").write_text(_IGNORED, "utf-8")
    _call(["git", "init", "--quiet"], workspace)
    if not (workspace / _DVC_CONFIG).exists():
        _call([sys.executable, "-m", "dvc", "init", "--quiet", "--force"], workspace)
    write_text(workspace / _DVC_CONFIG, (CLONE / _DVC_CONFIG).read_text("utf-8"))
    return True


def prepare(workspace: Path) -> None:
    """Before each run: a workspace of its own gets its `dvc.yaml` from the clone's."""
    if workspace != CLONE:
        create_if_absent(workspace)
        render_pipeline(workspace)


def _is_under_dvc(folder: Path) -> bool:
    """Whether the last step of the creation was done: `dvc init` alone leaves it empty."""
    config = folder / _DVC_CONFIG
    return (folder / ".git").exists() and config.is_file() and config.stat().st_size > 0


def _copied() -> Iterator[Path]:
    """Files that a workspace gets its own of; recipes are named in its `params.yaml`."""
    yield from (PARAMS, APPROVALS, Path(".dvcignore"))
    for pattern in ("data/*.yaml", "data/expectations/**/*.json"):
        yield from (path.relative_to(CLONE) for path in sorted(CLONE.glob(pattern)))


def _call(command: list[str], workspace: Path) -> None:
    ended = subprocess.run(
        command, cwd=workspace, env=child_environment(), capture_output=True, text=True, check=False
    )
    if ended.returncode != 0:
        said = (ended.stderr or ended.stdout).strip()
        raise RunStoppedError(f"{workspace}: `{' '.join(command[-3:])}` failed: {said}")
