"""`params.yaml` as a document that keeps its comments, its order and its quotes."""

from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.error import YAMLError

from stages.contract import PARAMS, InputError, read_parameters


def load_document(path: Path) -> CommentedMap:
    """The file as sections of values.

    Raises:
        InputError: it cannot be read, or is not that.
    """
    text = read_parameters(path)
    try:
        document = _round_trip().load(text)
    except YAMLError as error:
        raise InputError(f"{path}: expected YAML: {error}") from error
    if not isinstance(document, CommentedMap):
        raise InputError(f"{path}: expected sections such as product, got {text[:40]!r}")
    return document


def replace_value(document: CommentedMap, key: str, value: Any) -> Any:
    """Set the value at `section.key`.

    Returns:
        The one before; None if there was none.

    Raises:
        InputError: no such section.
    """
    *sections, last = key.split(".")
    place = _section(document, sections, key)
    before = place.get(last)
    place[last] = value
    return before


def value_at(document: CommentedMap, key: str) -> Any:
    """The value at `section.key`; None if there is none."""
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


def dump_document(document: CommentedMap) -> str:
    """As text again."""
    stream = StringIO()
    _round_trip().dump(document, stream)
    return stream.getvalue()


def parse_value(text: str) -> Any:
    """One value in YAML.

    Raises:
        YAMLError: malformed.
    """
    value = _round_trip().load(text)
    # a float as it was typed, 1e-3, is a word to the YAML 1.1 reader of the stages
    return float(value) if isinstance(value, float) else value


def _round_trip() -> YAML:
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 1000
    yaml.indent(mapping=2, sequence=4, offset=2)
    return yaml
