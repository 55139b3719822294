"""What every test stands on: the repository's root, and the shared data where it is there."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


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
