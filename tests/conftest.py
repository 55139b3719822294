"""What every test stands on: the repository, the shared data beside it, a workspace of fakes."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_workspace import FakeWorkspace, make_fake_workspace

from flows.quiet import hush

ROOT = Path(__file__).resolve().parents[1]

hush(Path("/nonexistent"))  # before Prefect and MLflow are imported anywhere
del os.environ["PREFECT_HOME"]
# a session in the background begins with interrupts ignored, and so would the commands it starts
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def shared(root: Path) -> Path:
    """The folder of real data and faulty cases beside the repository; skips where it is absent."""
    path = root.parent / "shared"
    if not path.is_dir():
        pytest.skip(f"{path} is absent: real data stays outside the repository")
    return path


@pytest.fixture(scope="session")
def prefect_api() -> Iterator[dict[str, str]]:
    """One temporary Prefect server for the whole session, and how a child process finds it."""
    from prefect.settings import PREFECT_API_URL
    from prefect.testing.utilities import prefect_test_harness

    with prefect_test_harness(server_startup_timeout=120):
        yield {"PREFECT_API_URL": str(PREFECT_API_URL.value())}


@pytest.fixture
def fake_workspace(tmp_path: Path) -> FakeWorkspace:
    """A fresh one."""
    return make_fake_workspace(tmp_path / "workspace")


@pytest.fixture
def inside(fake_workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch) -> FakeWorkspace:
    """The fake workspace as the current folder, with a tracking store of its own."""
    monkeypatch.chdir(fake_workspace.path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return fake_workspace
