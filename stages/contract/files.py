"""The stages' only way to results: read and write `reports/<stage>/`, from the workspace's root."""

import json
import os
import tempfile
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from stages.contract.errors import InputError
from stages.contract.graph import Stage
from stages.contract.results import Implementation, Result

REPORTS = Path("reports")
SCRATCH = Path(".breakeven")
"""Untracked: stores, checkpoints and marks of the running flow."""

SomeResult = TypeVar("SomeResult", bound=Result)


def folder(stage: Stage) -> Path:
    """The stage's one output."""
    return REPORTS / stage


def result_path(stage: Stage) -> Path:
    """Where the stage's result is kept."""
    return folder(stage) / "result.json"


def write_text(path: Path, text: str) -> None:
    """Write a whole file or none of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write(result: Result) -> None:
    """Keep a stage's result."""
    write_text(result_path(result.stage), result.model_dump_json(indent=2) + "\n")


def read(stage: Stage, kind: type[SomeResult]) -> SomeResult:
    """Read the result of a stage that was taken.

    Raises:
        InputError: the stage has no result, or was not taken.
    """
    result = read_if_taken(stage, kind)
    if result is None:
        raise InputError(f"expected a result of {stage} in {result_path(stage)}; it was not taken")
    return result


def read_if_taken(stage: Stage, kind: type[SomeResult]) -> SomeResult | None:
    """Read a stage's result; None when the stage was passed by.

    Raises:
        InputError: the stage has no result at all, or a damaged one.
    """
    raw = read_raw(stage)
    if raw.get("status") == "not_taken":
        return None
    try:
        return kind.model_validate(raw)
    except ValidationError as error:
        raise _damaged(stage, "a result of this version") from error


def read_raw(stage: Stage) -> dict[str, Any]:
    """Read a result as plain data, unchecked.

    Raises:
        InputError: the stage has no result, or one that is no JSON object.
    """
    path = result_path(stage)
    try:
        raw = json.loads(path.read_text("utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"expected {path}, found none: run `dvc repro {stage}` first") from error
    except ValueError as error:
        raise _damaged(stage, "JSON") from error
    if not isinstance(raw, dict):
        raise _damaged(stage, "a JSON object")
    return raw


def _damaged(stage: Stage, expected: str) -> InputError:
    return InputError(
        f"{result_path(stage)}: expected {expected}; the file is damaged, or of another version. "
        f"Remove it and run again; if it comes back from the cache, `breakeven run --fresh` "
        f"executes every stage anew"
    )


_CHAIN = (
    Stage.embed_operator,
    Stage.validate_numerics,
    Stage.build_operator,
    Stage.pilot_accuracy,
    Stage.check_support,
)


def chosen_implementation() -> Implementation:
    """The implementation that the path carries on with: the last word of the stages taken."""
    for stage in _CHAIN:
        raw = read_raw(stage)
        if raw["status"] == "done":
            return Implementation.model_validate(raw["implementation"])
    raise InputError("check_support has no result that was taken: run `dvc repro check_support`")
