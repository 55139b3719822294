"""The MLflow store: found, begun once, never migrated silently, and cleared of orphans."""

import os
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from flows.failures import RunStoppedError
from flows.lock import brief_lock
from stages.contract import SCRATCH

if TYPE_CHECKING:
    from mlflow import MlflowClient

EXPERIMENT = "breakeven"
_PREFIX = "sqlite:///"


@dataclass(frozen=True)
class Store:
    """An open tracking store and our experiment in it."""

    client: "MlflowClient"
    uri: str
    experiment_id: str
    orphans: tuple[str, ...] = ()
    """Runs that a killed process had left open; closed when the store was opened."""

    @property
    def news(self) -> str | None:
        """What a person should know of them; None where there were none."""
        if not self.orphans:
            return None
        return (
            "a run before this one was killed: its record in MLflow is closed now, the stages "
            "that it finished are kept"
        )


def tracking_uri(workspace: Path) -> str:
    """`MLFLOW_TRACKING_URI`, else a database in the workspace."""
    default = f"{_PREFIX}{(workspace / SCRATCH / 'mlflow.db').resolve()}"
    return os.environ.get("MLFLOW_TRACKING_URI") or default


def open_store(workspace: Path) -> Store:
    """Open the store, make it at the first time, and mark what a killed run left open.

    Raises:
        RunStoppedError: its database has the schema of another MLflow.
    """
    import mlflow
    from mlflow import MlflowClient

    uri = tracking_uri(workspace)
    # the first start on an empty database fails when two processes do it at once
    with brief_lock(workspace / SCRATCH / "mlflow.lock"):
        _refuse_other_schema(uri)
        with _environment_kept():
            mlflow.set_tracking_uri(uri)
        client = MlflowClient(uri)
        store = Store(client, uri, _experiment(client, uri))
    return replace(store, orphans=close_orphans(store))


def process_tags() -> dict[str, str]:
    """Which process on which host keeps a run open."""
    return {
        "breakeven.host": socket.gethostname(),
        "breakeven.pid": str(os.getpid()),
        "breakeven.pid_started": str(psutil.Process().create_time()),
    }


def close_orphans(store: Store) -> tuple[str, ...]:
    """Mark as killed the runs of ours that a process which is gone from this host left running."""
    query = f"attributes.status = 'RUNNING' AND tags.`breakeven.host` = '{socket.gethostname()}'"
    orphans = []
    for run in store.client.search_runs([store.experiment_id], query, max_results=1000):
        if not _is_alive(run.data.tags):
            store.client.set_tag(
                run.info.run_id, "breakeven.note", "its process ended without closing it"
            )
            store.client.set_terminated(run.info.run_id, "KILLED")
            orphans.append(run.info.run_id)
    return tuple(orphans)


def _is_alive(tags: dict[str, str]) -> bool:
    try:
        started = psutil.Process(int(tags["breakeven.pid"])).create_time()
    except (psutil.NoSuchProcess, KeyError, ValueError):
        return False
    return str(started) == tags.get("breakeven.pid_started")


@contextmanager
def _environment_kept() -> Iterator[None]:
    """MLflow also sets `MLFLOW_TRACKING_URI`, which is for a person to set."""
    stated = os.environ.get("MLFLOW_TRACKING_URI")
    yield
    if stated is None:
        os.environ.pop("MLFLOW_TRACKING_URI", None)


def _experiment(client: "MlflowClient", uri: str) -> str:
    experiment = client.get_experiment_by_name(EXPERIMENT)
    if experiment is None:
        return str(client.create_experiment(EXPERIMENT, _artifact_location(uri)))
    if experiment.lifecycle_stage == "deleted":
        client.restore_experiment(experiment.experiment_id)
    return str(experiment.experiment_id)


def _artifact_location(uri: str) -> str | None:
    """Beside a database file; a server knows a place of its own."""
    database = _database_file(uri)
    return None if database is None else (database.resolve().parent / "mlartifacts").as_uri()


def _database_file(uri: str) -> Path | None:
    return Path(uri.removeprefix(_PREFIX)) if uri.startswith(_PREFIX) else None


def _refuse_other_schema(uri: str) -> None:
    """MLflow itself would complete a database that lacks tables, which is a silent migration."""
    database = _database_file(uri)
    if database is None or not database.is_file():
        return
    from mlflow.store.db.utils import _get_latest_schema_revision

    connection = sqlite3.connect(
        f"file:{database.as_posix().replace('%', '%25')}?mode=ro", uri=True
    )
    try:
        found = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    except sqlite3.OperationalError:
        found = None  # no such table yet: MLflow begins the store
    finally:
        connection.close()
    expected: str = _get_latest_schema_revision()  # type: ignore[no-untyped-call]
    if found is not None and found[0] != expected:
        raise RunStoppedError(
            f"{database}: the MLflow database has schema {found[0]}, this MLflow expects "
            f"{expected}. Nothing was started. Make a copy of the file as a backup, run "
            f"`mlflow db upgrade {uri}` and start again"
        )
