"""Read `params.yaml`, and hand a stage only the keys that `dvc.yaml` lists for it."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import yaml
from pydantic import ValidationError

from stages.contract.errors import InputError
from stages.contract.frozen import Frozen
from stages.contract.graph import Stage
from stages.contract.settings import (
    Algorithm,
    Data,
    Infrastructure,
    Parameters,
    Product,
    Training,
)

PARAMS = Path("params.yaml")
PIPELINE = Path("dvc.yaml")
SECTIONS: Mapping[str, type[Frozen]] = {
    "product": Product,
    "algorithm": Algorithm,
    "infrastructure": Infrastructure,
    "data": Data,
    "training": Training,
}


class UnlistedParameterError(AttributeError):
    """A stage reads a parameter that the cache does not watch for it."""


@dataclass(frozen=True)
class Settings:
    """Parameters as a stage sees them; as built by hand, every key is readable."""

    product: Product
    algorithm: Algorithm
    infrastructure: Infrastructure
    data: Data
    training: Training


def load_parameters(path: Path = PARAMS) -> Parameters:
    """Read and check all parameters.

    Raises:
        InputError: the file is missing or malformed, or holds an unknown key or a value out of
            range; every fault is named with key, value and range.
    """
    return parse_parameters(read_parameters(path), str(path))


def read_parameters(path: Path) -> str:
    """The text of a `params.yaml`.

    Raises:
        InputError: it is missing, or no text that can be read.
    """
    try:
        return path.read_text("utf-8")
    except FileNotFoundError as error:
        raise InputError(
            f"expected {path} in {Path.cwd()}, found none: start with `breakeven run`"
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: expected text in UTF-8, got byte {error.object[error.start]:#04x} at "
            f"{error.start}: save the file in UTF-8"
        ) from error
    except OSError as error:
        raise InputError(f"{path}: expected a file that can be read: {error.strerror}") from error


def parse_parameters(
    text: str, origin: str, origins: Mapping[str, str] = MappingProxyType({})
) -> Parameters:
    """Check the text of a `params.yaml`.

    Args:
        origin: what errors name as the place of a value.
        origins: the place by key for values that come from elsewhere, such as an option.

    Raises:
        InputError: as `load_parameters`.
    """
    try:
        return Parameters.model_validate(yaml.safe_load(text))
    except yaml.YAMLError as error:
        raise InputError(f"{origin}: expected YAML: {error}") from error
    except ValidationError as error:
        faults = [fault for fault in error.errors() if not _is_consequence(fault)]
        raise InputError("\n".join(_describe(origin, origins, f) for f in faults)) from error


def load_settings(stage: Stage) -> Settings:
    """Read the parameters for one stage; reading a key not listed for it in `dvc.yaml` raises."""
    parameters = load_parameters()
    listed = listed_keys(stage)
    guarded = {name: _Listed(getattr(parameters, name), name, listed, stage) for name in SECTIONS}
    return Settings(**cast(dict[str, Any], guarded))


def listed_keys(stage: Stage, pipeline: Path = PIPELINE) -> frozenset[str]:
    """The keys of `params.yaml` that `dvc.yaml` lists for a stage, as "section.key"."""
    stages = yaml.safe_load(pipeline.read_text("utf-8"))["stages"]
    return frozenset(key for key in stages[stage].get("params", ()) if isinstance(key, str))


class _Listed:
    """A section of which only the listed keys can be read."""

    def __init__(self, section: Frozen, name: str, listed: frozenset[str], stage: Stage) -> None:
        self._section, self._name, self._listed, self._stage = section, name, listed, stage

    def __getattr__(self, key: str) -> Any:
        if f"{self._name}.{key}" not in self._listed:
            raise UnlistedParameterError(
                f"stage {self._stage} reads {self._name}.{key}, which dvc.yaml does not list under "
                f"its params: add it there, or a change of it would go unnoticed"
            )
        return getattr(self._section, key)


def _is_consequence(fault: Any) -> bool:
    """Whether a list is called too short only because items of it are at fault, each named."""
    if fault["type"] != "too_short":
        return False
    return len(fault["input"]) >= int(fault["ctx"]["min_length"])


def _describe(origin: str, origins: Mapping[str, str], fault: Any) -> str:
    """One line for one fault: where, which key, what was expected, what arrived."""
    key = ".".join(str(part) for part in fault["loc"]) or "the file"
    origin = next((o for k, o in origins.items() if f"{key}.".startswith(f"{k}.")), origin)
    if fault["type"] == "extra_forbidden":
        return f"{origin}: {key} is not a known key{_suggest(fault['loc'])}"
    if fault["type"] == "missing":
        return f"{origin}: {key} is missing"
    expectation = fault["msg"].removeprefix("Value error, ").removeprefix("Input ")
    return f"{origin}: {key} {expectation[0].lower()}{expectation[1:]}, got {fault['input']!r}"


def _suggest(location: tuple[Any, ...]) -> str:
    model = SECTIONS.get(str(location[0])) if len(location) > 1 else None
    names = list(model.model_fields if model else SECTIONS)
    close = difflib.get_close_matches(str(location[-1]), names, 1)
    return f"; did you mean {close[0]}?" if close else f"; known are {', '.join(names)}"
