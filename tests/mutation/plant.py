"""A plant: one fault, written as a change of one place in a correct operator's sources."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PLANTS = Path(__file__).with_name("plants")


class StalePlantError(Exception):
    """The place that a plant changes is not there (any more), or is there several times."""


@dataclass(frozen=True)
class Plant:
    """One fault."""

    operator: str
    name: str
    kind: str
    file: str
    """Path within the operator's folder."""
    old: str
    new: str
    checks: tuple[str, ...]
    """Names of the checks that could see it, likeliest first."""
    nth: int | None = None
    """Which occurrence of `old`, from 0; None where there is one only."""
    is_rule_made: bool = False

    @property
    def id(self) -> str:
        """Unique among all."""
        return f"{self.operator}/{self.name}"

    def plant(self, folder: Path) -> None:
        """Change the file in a copy of the operator's folder.

        Raises:
            StalePlantError: `old` does not occur as told.
        """
        path = folder / self.file
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        parts = text.split(self.old)
        found, nth = len(parts) - 1, self.nth or 0
        if found <= nth or (self.nth is None and found > 1):
            raise StalePlantError(
                f"{self.id}: expected {'one' if self.nth is None else f'more than {nth}'} of "
                f"{self.old!r} in {self.file}, found {found}"
            )
        head, tail = self.old.join(parts[: nth + 1]), self.old.join(parts[nth + 1 :])
        path.write_text(head + self.new + tail, encoding="utf-8")


def read_plants(operator: str) -> tuple[Plant, ...]:
    """The catalogue's plants in one operator."""
    path = PLANTS / f"{operator}.toml"
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["plant"] if path.is_file() else ()
    return tuple(
        Plant(**{**entry, "operator": operator, "checks": tuple(entry["checks"])})
        for entry in entries
    )


@dataclass(frozen=True)
class Equivalent:
    """A plant that changes nothing that a caller could see, and why."""

    operator: str
    plant: str
    argument: str


def read_equivalents() -> Iterator[Equivalent]:
    """All that are argued."""
    text = Path(__file__).with_name("equivalent.toml").read_text(encoding="utf-8")
    for entry in tomllib.loads(text).get("equivalent", ()):
        yield Equivalent(**entry)
