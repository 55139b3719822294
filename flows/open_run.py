"""Everything around one run: the workspace held, stores open, and all closed again at any end."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flows.collect import Collection, RunStatus
from flows.lock import workspace_lock
from flows.publish import publish
from flows.quiet import hush
from flows.run_stage import StageRunner
from flows.screen import Screen
from flows.tracking import open_store
from flows.workspace import prepare
from stages.contract import load_parameters


@contextmanager
def open_run(workspace: str, fresh: bool) -> Iterator[StageRunner]:
    """Begin a run in a workspace, and publish what it decided.

    Raises:
        WorkspaceBusyError: another run works there.
        InputError: the parameters are at fault.
        RunStoppedError: the MLflow database belongs to another version.
    """
    place = Path(workspace).resolve()
    hush(place)
    with workspace_lock(place):
        prepare(place)
        os.chdir(place)
        load_parameters()
        store, screen = open_store(place), Screen()
        if store.news is not None:
            screen.note(store.news)
        collection = Collection(store, "decide")
        status: RunStatus = "KILLED"
        try:
            screen.open()
            runner = StageRunner(collection, screen, fresh)
            yield runner
            screen.close()
            publish(collection, runner.done)
            status = "FINISHED"
        except Exception:
            status = "FAILED"
            raise
        finally:
            screen.close()
            collection.close(status)
