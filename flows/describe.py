"""The words beside the figures: tags, candidates, parameters, and the commit of the code."""

import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from flows.dvc import CLONE
from flows.figures import metric_name

CANDIDATES = ("candidates", "arms", "points")
"""Fields of results that list what was compared."""


def word(claim: bool) -> str:
    """A claim as a tag."""
    return "true" if claim else "false"


def tags_of(result: Mapping[str, Any]) -> dict[str, str]:
    """Words and claims of a result, or of a candidate, at its first level."""
    tags = {
        key: word(value) if isinstance(value, bool) else str(value)
        for key, value in result.items()
        if isinstance(value, str | bool)
    }
    if isinstance(result.get("implementation"), Mapping):
        tags |= {f"implementation.{key}": str(v) for key, v in result["implementation"].items()}
    if result.get("status") == "not_taken":
        tags["breakeven.not_taken"] = "true"
    return tags


def candidates_of(result: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """What a result compared, each with its name."""
    for key in CANDIDATES:
        for candidate in result.get(key, ()):
            name = candidate.get("name") or f"{candidate['num_workers']} on {candidate['where']}"
            yield str(name), candidate


def points_of(row: Mapping[str, Any]) -> Iterator[tuple[str, float, int]]:
    """Name, value and step of each number in a curve's row.

    A name begins with the row's words, such as the arm that it belongs to.
    """
    words = [str(value) for key, value in row.items() if isinstance(value, str)]
    for key, value in row.items():
        if key != "step" and isinstance(value, int | float) and not isinstance(value, bool):
            yield metric_name(".".join([*words, key])), float(value), int(row.get("step", 0))


def parameters_of(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Every leaf of `params.yaml` by its dotted key."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from parameters_of(inner, f"{name}.{key}" if name else str(key))
    else:
        yield metric_name(name), str(value)


def code_tags() -> dict[str, str]:
    """The workspace, the commit of our own code, and whether that was changed since."""
    tags = {"breakeven.workspace": str(Path.cwd())}
    commit = _git("rev-parse", "HEAD")
    if commit is not None:
        changes = _git("status", "--porcelain", "--untracked-files=no")
        tags |= {
            "mlflow.source.git.commit": commit,
            "breakeven.code_is_changed": word(bool(changes)),
        }
    return tags


def _git(*arguments: str) -> str | None:
    ended = subprocess.run(
        ["git", "-C", str(CLONE), *arguments], capture_output=True, text=True, check=False
    )
    return ended.stdout.strip() if ended.returncode == 0 else None
