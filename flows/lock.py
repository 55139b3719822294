"""One run at a time in a workspace: an flock that vanishes with its holder, however it ends."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from flows.failures import WorkspaceBusyError
from stages.contract import SCRATCH, InputError

_held: set[Path] = set()


@contextmanager
def workspace_lock(workspace: Path) -> Iterator[None]:
    """Hold the workspace; free where this process holds it already.

    Raises:
        InputError: nothing can be written there.
        WorkspaceBusyError: another process holds it; nothing was touched.
    """
    path = (workspace / SCRATCH / "lock").resolve()
    if path in _held:
        yield
        return
    with _open(path, workspace) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            raise WorkspaceBusyError(
                f"{workspace}: another run works here, process {holder}; nothing was touched. "
                f"Wait for it, or use --workspace DIR for a second one"
            ) from error
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        _held.add(path)
        try:
            yield
        finally:
            _held.discard(path)


def _open(path: Path, workspace: Path) -> TextIO:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("a+", encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"{workspace}: expected a folder to work in that can be written, got: "
            f"{error.strerror} ({error.filename}); give another with --workspace DIR"
        ) from error


@contextmanager
def brief_lock(path: Path) -> Iterator[None]:
    """Wait for a short exclusive section, such as the first start of a store."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
