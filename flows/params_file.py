"""Changes to `params.yaml` from the command line: checked first, then written and said."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.error import YAMLError

from flows.doors import check_data, check_operator, check_workload
from flows.dvc import CLONE
from flows.params_document import dump_document, load_document, parse_value, replace_value, value_at
from stages.contract import PARAMS, InputError, parse_parameters, write_text

_BUNDLED = Path("kernels")
_PATHS = ("data.source", "algorithm.operator")
_CODE = ("algorithm.operator", "training.workload_source")


@dataclass(frozen=True)
class Changes:
    """Changes that were found right; nothing is written yet."""

    text: str
    """The whole of `params.yaml` afterwards."""
    lines: tuple[str, ...]
    """One for each value that is another then."""


def change_parameters(
    workspace: Path,
    settings: Sequence[str] = (),
    data: Path | None = None,
    operator: str | None = None,
) -> list[str]:
    """Write changes into `params.yaml`, comments kept; nothing is written if one is at fault.

    Returns:
        One line for each value that is another now.

    Raises:
        InputError: as `plan_changes`.
    """
    changes = plan_changes(workspace, settings, data, operator)
    if changes.lines:
        write_text(workspace / PARAMS, changes.text)
    return list(changes.lines)


def plan_changes(
    workspace: Path,
    settings: Sequence[str] = (),
    data: Path | None = None,
    operator: str | None = None,
) -> Changes:
    """Check changes against the workspace's parameters, the clone's where it has none yet.

    `settings` are `section.key=value` with a value in YAML. Own data takes its own largest case as
    the deployed shape, unless that is set too; a workload brings the file of its module.

    Raises:
        InputError: a setting is malformed, given twice, or its key or value is not accepted; or
            data, operator or workload that it names are not what they must be.
    """
    path = workspace / PARAMS if (workspace / PARAMS).exists() else CLONE / PARAMS
    document = load_document(path)
    stated, origins = _stated(settings, data, operator)
    before = {key: replace_value(document, key, value) for key, value in stated.items()}
    parse_parameters(dump_document(document), str(path), origins)
    for key, value in _follow(workspace, document, stated, origins).items():
        before.setdefault(key, value_at(document, key))
        replace_value(document, key, value)
    after = {key: value_at(document, key) for key in before}
    lines = (
        f"{PARAMS}: {key}: {_shown(before[key])} -> {_shown(value)}"
        for key, value in after.items()
        if before[key] != value
    )
    return Changes(dump_document(document), tuple(lines))


def _stated(
    settings: Sequence[str], data: Path | None, operator: str | None
) -> tuple[dict[str, Any], dict[str, str]]:
    """Values by key as the command line states them, and the option that each comes from."""
    stated: dict[str, Any] = {}
    origins: dict[str, str] = {}

    def state(key: str, value: Any, origin: str) -> None:
        if key in origins:
            raise InputError(f"{key} is set twice, by {origins[key]} and by {origin}: keep one")
        stated[key], origins[key] = value, origin

    if data is not None:
        source = _absolute(data, "--data")
        state("data.source", str(source), "--data")
        if source.is_dir():
            stated["product.case_shape"] = None
    if operator is not None:
        state("algorithm.operator", _operator_folder(operator), "--operator")
    for setting in settings:
        key, value = _parse(setting)
        if key in _PATHS and isinstance(value, str):
            value = _path(value, key)
        state(key, value, f"-S {setting}")
    return stated, origins


def _follow(
    workspace: Path,
    document: CommentedMap,
    stated: Mapping[str, Any],
    origins: Mapping[str, str],
) -> dict[str, str]:
    """Check what the stated values lead to, and return the keys that follow from them."""
    changes = {}
    if "data.source" in stated:
        check_data(_data_place(workspace, stated["data.source"]), origins["data.source"])
    if "training.workload" in stated:
        code = check_workload(stated["training.workload"], origins["training.workload"])
        if "training.workload_source" not in stated:
            changes["training.workload_source"] = _in_clone(code)
    for key in _CODE:
        value = changes.get(key) or value_at(document, key)
        if _is_of_clone(workspace, value):
            changes[key] = str(CLONE / value)
    if "algorithm.operator" in stated:
        folder = changes.get("algorithm.operator", stated["algorithm.operator"])
        check_operator(workspace / folder, origins["algorithm.operator"])
    places = {
        "data.source": _data_place(workspace, value_at(document, "data.source")),
        **{key: workspace / (changes.get(key) or value_at(document, key)) for key in _CODE},
    }
    for key, place in places.items():
        if not place.exists():
            raise InputError(
                f"{origins.get(key, PARAMS)}: {key}: found nothing at {place}; was it moved?"
            )
    return changes


def _data_place(workspace: Path, source: str) -> Path:
    """Where the data is; a workspace that is yet to come gets copies of the clone's recipes."""
    is_copied = not (workspace / PARAMS).exists() and (CLONE / source).is_file()
    return (CLONE if is_copied else workspace) / source


def _is_of_clone(workspace: Path, value: str) -> bool:
    """Whether a relative path means code of the clone, seen from a workspace elsewhere."""
    if workspace == CLONE or Path(value).is_absolute():
        return False
    return not (workspace / value).exists() and (CLONE / value).exists()


def _operator_folder(name_or_path: str) -> str:
    """A bundled operator's folder by its name, else an absolute path."""
    if _is_bundled(name_or_path):
        return str(_BUNDLED / name_or_path)
    folder = _absolute(Path(name_or_path), "--operator")
    if not name_or_path or not folder.is_dir():
        bundled = sorted(spec.parent.name for spec in (CLONE / _BUNDLED).glob("*/spec.py"))
        raise InputError(
            f"--operator: expected one of {', '.join(bundled)}, or a folder's path, "
            f"got {name_or_path!r}"
        )
    return _in_clone(folder)


def _is_bundled(name: str) -> bool:
    return len(Path(name).parts) == 1 and (CLONE / _BUNDLED / name / "spec.py").is_file()


def _path(value: str, key: str) -> str:
    """A path as the stages will understand it: no shell has expanded what follows a "="."""
    if key == "algorithm.operator" and _is_bundled(value):
        return str(_BUNDLED / value)
    return str(_absolute(Path(value), f"-S {key}")) if value.startswith("~") else value


def _absolute(path: Path, origin: str) -> Path:
    try:
        return path.expanduser().resolve()
    except (OSError, RuntimeError) as error:  # no such home, a loop of links, too long a name
        raise InputError(f"{origin}: {path}: {error}") from error


def _in_clone(path: Path) -> str:
    """Relative for code of the clone, so that its `params.yaml` holds on another machine."""
    return str(path.relative_to(CLONE) if path.is_relative_to(CLONE) else path)


def _parse(setting: str) -> tuple[str, Any]:
    key, equals, text = setting.partition("=")
    key = key.strip()
    if not equals or "." not in key:
        raise InputError(
            f"-S: expected section.key=value, such as product.latency_budget_ms=200, "
            f"got {setting!r}"
        )
    try:
        value = parse_value(text)
    except YAMLError as error:
        raise InputError(f"-S {key}: expected a value in YAML, got {text!r}") from error
    return key, value


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
