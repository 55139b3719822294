"""Read a folder's `dataset.json`: what the data set says about itself, in either dialect.

nnU-Net 2 writes `channel_names` and `labels {name: value}`; the Medical Segmentation Decathlon (and
nnU-Net 1) `modality` and `labels {value: name}`, with a list `training` of image and label paths.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stages.contract import InputError

DESCRIPTION = "dataset.json"
_EXAMPLE = (
    '{"channel_names": {"0": "FLAIR"}, "labels": {"background": 0, "lesion": 1}, '
    '"file_ending": ".nii.gz"}'
)


@dataclass(frozen=True)
class Description:
    """A data set by its own words."""

    name: str
    channel_names: tuple[str, ...]
    labels: Mapping[int, str]
    """Name by value."""
    file_ending: str | None
    listed: tuple[Mapping[str, Any], ...]
    """Entries of `training`; empty where there is no list."""


def read_description(source: Path) -> Description:
    """Read `dataset.json`.

    Raises:
        InputError: it is missing or malformed.
    """
    path = source / DESCRIPTION
    try:
        raw = json.loads(path.read_text("utf-8-sig"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(f"{path}: expected JSON such as {_EXAMPLE}: {error}") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be opened ({error.strerror})") from error
    if not isinstance(raw, dict):
        raise InputError(f"{path}: expected an object such as {_EXAMPLE}, got {type(raw).__name__}")
    listed = raw.get("training", [])
    if not isinstance(listed, list):
        raise InputError(f"{path}: training must be a list, got {type(listed).__name__}")
    return Description(
        name=str(raw.get("name") or source.resolve().name),
        channel_names=_read_channels(raw, path),
        labels=_read_labels(raw, path),
        file_ending=raw.get("file_ending"),
        listed=tuple(entry if isinstance(entry, dict) else {"image": entry} for entry in listed),
    )


def _read_channels(raw: Mapping[str, Any], path: Path) -> tuple[str, ...]:
    channels = raw.get("channel_names", raw.get("modality"))
    try:
        names = {int(key): str(name) for key, name in channels.items()}
    except (AttributeError, ValueError) as error:
        raise InputError(
            f'{path}: expected channel_names (or modality) such as {{"0": "FLAIR"}}, '
            f"got {channels!r}"
        ) from error
    if sorted(names) != list(range(len(names))) or not names:
        raise InputError(f"{path}: channels must be numbered 0, 1, ..., got {sorted(names)}")
    return tuple(names[number] for number in sorted(names))


def _read_labels(raw: Mapping[str, Any], path: Path) -> dict[int, str]:
    labels = raw.get("labels")
    if not isinstance(labels, dict) or not labels:
        raise InputError(f"{path}: expected labels such as in {_EXAMPLE}, got {labels!r}")
    pairs = [(key, value) for key, value in labels.items()]
    if all(str(key).lstrip("-").isdigit() for key in labels):
        pairs = [(value, key) for key, value in pairs]
    named: dict[int, str] = {}
    for name, value in pairs:
        if isinstance(value, list):
            raise InputError(
                f"{path}: label {name} stands for a region {value}; regions are not supported, "
                f"give each value a name of its own"
            )
        try:
            number = int(value)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"{path}: label {name} must have a whole number, got {value!r}"
            ) from error
        if number in named:
            raise InputError(
                f"{path}: labels {named[number]} and {name} have the same value {number}"
            )
        named[number] = str(name)
    return named
