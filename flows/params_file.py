"""Changes to `params.yaml` from the command line: checked first, then written and said."""

import json
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.error import YAMLError

from flows.dvc import CLONE
from stages.contract import PARAMS, InputError, find_workload_source, parse_parameters, write_text

_BUNDLED = Path("kernels")


def change_parameters(
    workspace: Path,
    settings: Sequence[str] = (),
    data: Path | None = None,
    operator: str | None = None,
) -> list[str]:
    """Write changes into `params.yaml`, comments kept; nothing is written if one is at fault.

    `settings` are `section.key=value` with a value in YAML. Own data takes its own largest case as
    the deployed shape, unless that is set too; a workload brings the file of its module.

    Returns:
        One line for each value that is another now.

    Raises:
        InputError: a setting is malformed, or its key or value is not accepted.
    """
    path = workspace / PARAMS
    yaml = _round_trip()
    text = path.read_text("utf-8")
    document = yaml.load(text)
    stated = dict(_parse(setting) for setting in settings)
    changes = _implied(workspace, document, stated, data, operator) | stated
    said = []
    for key, value in changes.items():
        before = _replace(document, key, value)
        if before != value:
            said.append(f"{PARAMS}: {key}: {_shown(before)} -> {_shown(value)}")
    if said:
        stream = StringIO()
        yaml.dump(document, stream)
        parse_parameters(stream.getvalue(), str(path))
        write_text(path, stream.getvalue())
    return said


def _implied(
    workspace: Path,
    document: CommentedMap,
    stated: dict[str, Any],
    data: Path | None,
    operator: str | None,
) -> dict[str, Any]:
    """What the options mean in keys; relative paths in the clone's own file stay relative."""
    changes: dict[str, Any] = {}
    if data is not None:
        source = data.expanduser().resolve()
        if not source.exists():
            raise InputError(f"--data: expected a folder of images, found none at {source}")
        changes["data.source"] = str(source)
        if source.is_dir():
            changes["product.case_shape"] = None
    if operator is not None:
        changes["algorithm.operator"] = _operator_folder(operator)
    if "training.workload" in stated:
        source = find_workload_source(str(stated["training.workload"]))
        changes["training.workload_source"] = _in_clone(source)
    for key in ("algorithm.operator", "training.workload_source"):
        value = stated.get(key) or changes.get(key) or _value(document, key)
        if _is_of_clone(workspace, value):
            stated.pop(key, None)
            changes[key] = str(CLONE / value)
    return changes


def _is_of_clone(workspace: Path, value: Any) -> bool:
    """Whether a relative path means code of the clone, seen from a workspace elsewhere."""
    if workspace == CLONE or not isinstance(value, str) or Path(value).is_absolute():
        return False
    return not (workspace / value).exists() and (CLONE / value).exists()


def _operator_folder(name_or_path: str) -> str:
    """A bundled operator's folder by its name, else an absolute path."""
    if len(Path(name_or_path).parts) == 1 and (CLONE / _BUNDLED / name_or_path).is_dir():
        return str(_BUNDLED / name_or_path)
    folder = Path(name_or_path).expanduser().resolve()
    if not folder.is_dir():
        bundled = sorted(spec.parent.name for spec in (CLONE / _BUNDLED).glob("*/spec.py"))
        raise InputError(
            f"--operator: expected one of {', '.join(bundled)}, or a folder's path, "
            f"got {name_or_path}"
        )
    return _in_clone(folder)


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
        value = _round_trip().load(text)
    except YAMLError as error:
        raise InputError(f"-S {key}: expected a value in YAML, got {text!r}") from error
    # a float as it was typed, 1e-3, is a word to the YAML 1.1 reader of the stages
    return key, float(value) if isinstance(value, float) else value


def _replace(document: CommentedMap, key: str, value: Any) -> Any:
    *sections, last = key.split(".")
    place = _section(document, sections, key)
    before = place.get(last)
    place[last] = value
    return before


def _value(document: CommentedMap, key: str) -> Any:
    *sections, last = key.split(".")
    return _section(document, sections, key).get(last)


def _section(document: CommentedMap, sections: Sequence[str], key: str) -> CommentedMap:
    place = document
    for section in sections:
        if not isinstance(place.get(section), CommentedMap):
            known = [name for name, inner in place.items() if isinstance(inner, CommentedMap)]
            raise InputError(
                f"-S {key}: {section} is not a section of {PARAMS}; known are {', '.join(known)}"
            )
        place = place[section]
    return place


def _round_trip() -> YAML:
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 1000
    yaml.indent(mapping=2, sequence=4, offset=2)
    return yaml


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
