"""From a result, as plain data, to the flat names and numbers that MLflow keeps."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

_FIGURE_KEYS = {"value", "reason"}
_NAMING_KEYS = ("name", "check", "case")
_NOT_ALLOWED = re.compile(r"[^\w./ :-]")


def metrics_of(result: Mapping[str, Any]) -> dict[str, float]:
    """Every known figure and number, named by its path; its interval as `_low` and `_high`."""
    return dict(_numbers(result, ""))


def unknowns_of(result: Mapping[str, Any]) -> dict[str, str]:
    """The reason of every figure that is unknown, named by its path."""
    return dict(_reasons(result, ""))


def is_figure(value: Any) -> bool:
    """Whether plain data is a `Figure`."""
    return isinstance(value, Mapping) and value.keys() >= _FIGURE_KEYS


def metric_name(text: str) -> str:
    """A name that MLflow accepts."""
    return _NOT_ALLOWED.sub("_", text).strip("/. ")[:250]


def _numbers(value: Any, name: str) -> Iterator[tuple[str, float]]:
    if isinstance(value, bool):
        return
    if isinstance(value, int | float):
        yield metric_name(name), float(value)
    elif is_figure(value):
        if value["value"] is not None:
            yield metric_name(name), value["value"]
            for end in ("low", "high"):
                if value.get(end) is not None:
                    yield metric_name(f"{name}_{end}"), value[end]
    else:
        for key, inner in _members(value):
            yield from _numbers(inner, _join(name, key))


def _reasons(value: Any, name: str) -> Iterator[tuple[str, str]]:
    if is_figure(value):
        if value["value"] is None:
            yield metric_name(name), value["reason"]
    else:
        for key, inner in _members(value):
            yield from _reasons(inner, _join(name, key))


def _members(value: Any) -> Iterator[tuple[str, Any]]:
    """Members of a mapping by key; of a list by the name that each carries, else by position."""
    if isinstance(value, Mapping):
        yield from value.items()
    elif isinstance(value, list | tuple):
        for position, inner in enumerate(value):
            yield _own_name(inner) or str(position), inner


def _own_name(value: Any) -> str | None:
    if isinstance(value, Mapping):
        for key in _NAMING_KEYS:
            if isinstance(value.get(key), str):
                return str(value[key])
    return None


def _join(name: str, key: str) -> str:
    return f"{name}.{key}" if name else key
