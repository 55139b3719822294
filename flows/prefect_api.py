"""The Prefect server that a run reports to: the stated one, else one that lives as long as we."""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from flows.local_server import prefect_server

_VARIABLE = "PREFECT_API_URL"
_DELIVERY_LIMIT_S = 5.0
_messages_are_stuck = threading.Event()


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
        with _delivering():
            yield str(stated)
        return
    with prefect_server(workspace, preferred_port) as server:
        api = f"{server.url}/api"
        os.environ[_VARIABLE] = api
        try:
            with temporary_settings({PREFECT_API_URL: api}), _delivering():
                yield api
        finally:
            del os.environ[_VARIABLE]


def end_process(status: int) -> NoReturn:
    """Exit at once where messages wait for a server that is gone; Prefect retries for minutes."""
    if _messages_are_stuck.is_set():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)


@contextmanager
def _delivering() -> Iterator[None]:
    """At the end wait for logs and states of tasks, which travel in the background."""
    try:
        yield
    finally:
        from prefect.events.worker import EventsWorker
        from prefect.logging.handlers import APILogWorker

        for worker in (APILogWorker, EventsWorker):
            ended = worker.drain_all(timeout=_DELIVERY_LIMIT_S)
            if isinstance(ended, tuple) and ended[1]:
                _messages_are_stuck.set()
