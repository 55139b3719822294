"""One process builds a file, the others wait for it; one that is killed holds up nobody.

The lock is `flock` on a file beside the one to be built: the system lets go of it when its holder
ends, however it ends, so what lies there means nothing by itself.
"""

import errno
import fcntl
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kernels.build.failure import BuildFailed

_PAUSE_S = 0.05
_UNSUPPORTED = frozenset(
    {errno.ENOLCK, errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP}
)


@contextmanager
def building(file: Path, deadline: float) -> Iterator[bool]:
    """Hold the right to build a file.

    Yields whether it is held alone: where the file system knows no locks, every process builds
    under a name of its own, and the last rename wins; their results are the same.

    Args:
        file: what is to be built; its folder exists.
        deadline: by `time.monotonic()`.

    Raises:
        BuildFailed: another process held it until the deadline; the message names that process.
    """
    lock = file.with_name(f"{file.name}.lock")
    handle = _acquire(lock, deadline)
    if handle is None:
        yield False
        return
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()} {socket.gethostname()}\n".encode(), 0)
        yield True
    finally:
        lock.unlink(missing_ok=True)  # before it is free: whoever waits on it then looks anew
        os.close(handle)


def _acquire(lock: Path, deadline: float) -> int | None:
    """The locked file's descriptor; None where the file system has no locks."""
    started = time.monotonic()
    while True:
        # Not inherited by the compilers: they may outlive a killed build, and its lock must not.
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_still_there(handle, lock):
                return handle
        except BlockingIOError:
            if time.monotonic() >= deadline:
                holder = _describe_holder(handle)
                os.close(handle)
                raise BuildFailed(
                    f"{lock.with_suffix('')}: {holder} is building it and was not done after "
                    f"{time.monotonic() - started:.0f} s of waiting; wait for it or end it, then "
                    f"try again (its lock is {lock}, which frees itself when that process ends)"
                ) from None
            time.sleep(_PAUSE_S)
        except OSError as error:
            os.close(handle)
            if error.errno in _UNSUPPORTED:
                lock.unlink(missing_ok=True)
                return None
            raise
        os.close(handle)


def _is_still_there(handle: int, lock: Path) -> bool:
    """Whether the locked file is the one that others will open: the last holder removed its own."""
    try:
        return os.path.samestat(os.fstat(handle), lock.stat())
    except FileNotFoundError:
        return False


def _describe_holder(handle: int) -> str:
    pid, _, host = os.pread(handle, 200, 0).decode(errors="replace").strip().partition(" ")
    if not pid:
        return "a process that has not said which"
    return f"process {pid}" + (f" on {host}" if host != socket.gethostname() else "")
