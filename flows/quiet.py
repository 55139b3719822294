"""Settings of the tools around us, made before any of them is imported: quiet, local, no telemetry.

Every one is a default: a value that is already in the environment wins.
"""

import os
from pathlib import Path

from stages.contract import SCRATCH

_DEFAULTS = {
    # telemetry: patient-data projects run in closed networks
    "DO_NOT_TRACK": "true",
    "DVC_NO_ANALYTICS": "1",
    "GX_ANALYTICS_ENABLED": "false",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    # a temporary server has taken over 20 s to start on a busy machine
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
    # what a person should see is written by flows/screen.py; the rest goes to Prefect's own log
    "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL",
    "PREFECT_LOGGING_INTERNAL_LEVEL": "CRITICAL",
    "MLFLOW_LOGGING_LEVEL": "WARNING",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "GIT_PYTHON_REFRESH": "quiet",
    "PYTHONUNBUFFERED": "1",
}


def hush(workspace: Path) -> None:
    """Make the settings for this process and its children."""
    for name, value in _DEFAULTS.items():
        os.environ.setdefault(name, value)
    os.environ.setdefault("PREFECT_HOME", str((workspace / SCRATCH / "prefect").resolve()))
    # it would make every run that MLflow starts here a part of that other run
    os.environ.pop("MLFLOW_RUN_ID", None)
