"""The pages of MLflow and Prefect on loopback, until interrupted."""

import time
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

from flows.failures import RunStoppedError
from flows.local_server import mlflow_server, prefect_server

_POLL_S = 0.5


def serve_pages(workspace: Path, console: Console) -> None:
    """Start both, say where they are, and end both at an interrupt.

    Raises:
        RunStoppedError: one of them did not start, or ended.
    """
    with ExitStack() as stack:
        servers = [
            stack.enter_context(mlflow_server(workspace)),
            stack.enter_context(prefect_server(workspace)),
        ]
        for server in servers:
            console.print(f"[bold]{server.name:<8}[/bold] {server.url}", highlight=False)
        console.print("Ctrl-C ends both.")
        try:
            while not any(server.has_ended for server in servers):
                time.sleep(_POLL_S)
        except KeyboardInterrupt:
            console.print("ended")
            return
        raise RunStoppedError(f"{next(s.name for s in servers if s.has_ended)} ended by itself")
