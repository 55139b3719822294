"""The Prefect server that a run reports to: the stated one, else one that lives as long as we do."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flows.local_server import prefect_server

_VARIABLE = "PREFECT_API_URL"
_DELIVERY_LIMIT_S = 10.0


@contextmanager
def prefect_api(workspace: Path, preferred_port: int = 0) -> Iterator[str]:
    """The URL of the API, for us and for our children.

    Prefect's own temporary server would share our process group: an interrupt at the terminal would
    end it before the run has said to it that it was interrupted, and a kill would leave it behind.

    Raises:
        RunStoppedError: a server of our own did not start.
    """
    from prefect.settings import PREFECT_API_URL, temporary_settings

    stated = PREFECT_API_URL.value()
    if stated:
        yield str(stated)
        return
    with prefect_server(workspace, preferred_port) as server:
        api = f"{server.url}/api"
        os.environ[_VARIABLE] = api
        try:
            with temporary_settings({PREFECT_API_URL: api}):
                yield api
        finally:
            _deliver_what_is_queued()
            del os.environ[_VARIABLE]


def _deliver_what_is_queued() -> None:
    """Logs and states of tasks travel in the background; without a server, an exit waits for them."""
    from prefect.events.worker import EventsWorker
    from prefect.logging.handlers import APILogWorker

    for worker in (APILogWorker, EventsWorker):
        worker.drain_all(timeout=_DELIVERY_LIMIT_S)
