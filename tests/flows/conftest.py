"""A workspace of fakes in which the flow has run."""

import os
from pathlib import Path

import pytest
from fake_workspace import FakeWorkspace, make_fake_workspace


@pytest.fixture(scope="session")
def finished(
    prefect_api: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> FakeWorkspace:
    """One in which the flow came to its end twice; for reading only."""
    from flows.decide import decide

    workspace = make_fake_workspace(tmp_path_factory.mktemp("finished") / "é 50% done")
    before = Path.cwd()
    decide(workspace=str(workspace.path))
    decide(workspace=str(workspace.path))
    os.chdir(before)
    return workspace
