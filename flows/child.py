"""Run a command as a child process that leaves nothing behind, whatever happens to it or to us."""

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

# The command runs in a session of its own. A guard in the same process group waits on a pipe that
# only we hold open: when we end, even by SIGKILL, the pipe closes and the guard ends the group.
_GUARDED = (
    'exec 3<&0 </dev/null; { read -r _; kill -KILL 0; } <&3 >/dev/null 2>&1 & exec 3<&-; exec "$@"'
)
_TICK_S = 0.5
_GRACE_S = 5.0


@dataclass(frozen=True)
class Ended:
    """How a child ended."""

    status: int
    """Exit status; negative for a signal."""
    lines: tuple[str, ...]
    """Everything that it wrote, both streams in order."""
    timed_out: bool


def run_child(
    command: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    on_line: Callable[[str], None],
    on_tick: Callable[[], None] = lambda: None,
    time_limit_s: float | None = None,
) -> Ended:
    """Run to the end, or to the time limit, and hand on each line as it is written.

    `on_tick` is called about twice a second. An exception, or an interrupt, ends the child first.
    """
    process = start_guarded(command, cwd=cwd, env=env)
    deadline = None if time_limit_s is None else time.monotonic() + time_limit_s
    output = _Lines(on_line)
    assert process.stdout is not None
    timed_out = False
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while True:
                if selector.select(_TICK_S):
                    chunk = os.read(process.stdout.fileno(), 65536)
                    if not chunk:
                        break
                    output.feed(chunk)
                elif process.poll() is not None:
                    break
                on_tick()
                if deadline is not None and time.monotonic() > deadline:
                    timed_out = True
                    break
        if not timed_out:
            process.wait(_GRACE_S)
    finally:
        end_group(process)
        output.close()
        on_tick()
    return Ended(process.returncode, tuple(output.lines), timed_out)


def start_guarded(
    command: Sequence[str], *, cwd: Path, env: Mapping[str, str]
) -> "subprocess.Popen[bytes]":
    """Start a child in its own session, under a guard that ends it when we are gone."""
    return subprocess.Popen(
        ["/bin/sh", "-c", _GUARDED, "sh", *command],
        cwd=cwd,
        env=dict(env),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def end_group(process: "subprocess.Popen[bytes]") -> None:
    """End the child, its process group, and descendants that left the group."""
    descendants: list[psutil.Process] = []
    if process.poll() is None:
        with contextlib.suppress(psutil.NoSuchProcess):
            descendants = psutil.Process(process.pid).children(recursive=True)
        _signal_group(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_S)
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()  # the guard wakes and ends what is left of the group
    _signal_group(process.pid, signal.SIGKILL)
    for descendant in descendants:
        with contextlib.suppress(psutil.NoSuchProcess):
            descendant.kill()
    process.wait()


def _signal_group(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


class _Lines:
    """Bytes in, whole lines out."""

    def __init__(self, on_line: Callable[[str], None]) -> None:
        self.lines: list[str] = []
        self._on_line, self._rest = on_line, b""

    def feed(self, chunk: bytes) -> None:
        *whole, self._rest = (self._rest + chunk).replace(b"\r", b"\n").split(b"\n")
        for line in whole:
            self._emit(line)

    def close(self) -> None:
        if self._rest:
            self._emit(self._rest)
            self._rest = b""

    def _emit(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace").rstrip()
        if text:
            self.lines.append(text)
            self._on_line(text)
