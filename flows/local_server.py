"""Servers on loopback as children: a free port, a health check, and an end without left-overs."""

import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from flows.child import end_group, start_guarded
from flows.dvc import child_environment
from flows.failures import RunStoppedError
from flows.tracking import tracking_uri
from stages.contract import SCRATCH

LOOPBACK = "127.0.0.1"
_START_LIMIT_S = 120.0
_POLL_S = 0.3


class LocalServer:
    """A server that runs until its context ends."""

    def __init__(self, name: str, url: str, process: "subprocess.Popen[bytes]") -> None:
        self.name, self.url, self._process = name, url, process
        self._last: deque[str] = deque(maxlen=20)
        threading.Thread(target=self._drain, daemon=True).start()

    @property
    def has_ended(self) -> bool:
        """Whether the process is gone."""
        return self._process.poll() is not None

    def wait_until_healthy(self, path: str) -> None:
        """Return once the server answers.

        Raises:
            RunStoppedError: it ended, or did not answer in time.
        """
        deadline = time.monotonic() + _START_LIMIT_S
        while time.monotonic() < deadline and not self.has_ended:
            try:
                with urllib.request.urlopen(self.url + path, timeout=2):
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(_POLL_S)
        raise RunStoppedError(f"{self.name} did not start at {self.url}: " + " | ".join(self._last))

    def stop(self) -> None:
        """End it with all its children."""
        end_group(self._process)

    def _drain(self) -> None:
        assert self._process.stdout is not None
        try:
            for line in self._process.stdout:
                self._last.append(line.decode("utf-8", "replace").rstrip())
        except ValueError:
            pass  # closed while reading: the server was stopped


@contextmanager
def prefect_server(workspace: Path, preferred_port: int = 4200) -> Iterator[LocalServer]:
    """A Prefect server with its scheduler, on loopback; any free port is preferred by 0."""
    arguments = ["-m", "prefect", "server", "start", "--host", LOOPBACK, "--port"]
    with _serving("Prefect", workspace, arguments, preferred_port, "/api/health") as server:
        yield server


@contextmanager
def mlflow_server(workspace: Path) -> Iterator[LocalServer]:
    """MLflow's pages over the workspace's store, on loopback."""
    uri = tracking_uri(workspace)
    artifacts = (workspace / SCRATCH / "mlartifacts").resolve().as_uri()
    arguments = ["-m", "mlflow", "server", "--backend-store-uri", uri, "--workers", "1"]
    arguments += ["--default-artifact-root", artifacts, "--host", LOOPBACK, "--port"]
    with _serving("MLflow", workspace, arguments, 5000, "/health") as server:
        yield server


def free_port(preferred: int) -> int:
    """The preferred port, or another where that is taken."""
    for port in (preferred, 0):
        with socket.socket() as probe:
            try:
                probe.bind((LOOPBACK, port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise RunStoppedError(f"no free port on {LOOPBACK}")


@contextmanager
def _serving(
    name: str, workspace: Path, arguments: Sequence[str], port: int, health: str
) -> Iterator[LocalServer]:
    port = free_port(port)
    environment = child_environment()
    environment.pop("PREFECT_API_URL", None)
    process = start_guarded(
        [sys.executable, *arguments, str(port)], cwd=workspace, env=environment | _allow(port)
    )
    server = LocalServer(name, f"http://{LOOPBACK}:{port}", process)
    try:
        server.wait_until_healthy(health)
        yield server
    finally:
        server.stop()


def _allow(port: int) -> dict[str, str]:
    """The Prefect page asks its API at the port that was chosen."""
    return {
        "PREFECT_UI_API_URL": os.environ.get("PREFECT_UI_API_URL", f"http://{LOOPBACK}:{port}/api")
    }
