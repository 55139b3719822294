"""The environment: stable facts of this machine."""

import sys
from pathlib import Path

import numpy as np

from stages.contract import Settings, load_parameters
from stages.environment import environment


def make_settings(root: Path) -> Settings:
    """The repository's settings."""
    return Settings(**dict(load_parameters(root / "params.yaml")))


def test_two_readings_agree(root: Path) -> None:
    """Nothing volatile: otherwise every measurement would be made again each time."""
    assert environment(make_settings(root)) == environment(make_settings(root))


def test_facts_are_this_machines(root: Path) -> None:
    """Versions are those that are imported; memory is in whole GiB; the CPU has a name."""
    result = environment(make_settings(root))
    assert result.versions["numpy"] == np.__version__
    assert result.python_version == ".".join(map(str, sys.version_info[:3]))
    assert result.memory_bytes % 1024**3 == 0
    assert result.memory_bytes > 0
    assert result.num_cores >= 1
    assert result.cpu_model
    assert result.versions["torch"] in result.reason
