"""What a run leaves behind, and its form as JSON."""

import dataclasses
import json
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from kernels.benchmark.interval import Estimate
from kernels.benchmark.scene import Form, Role

Status = Literal["timed", "wrong", "absent", "skipped", "failed"]
"""wrong: timed, with another result than ours; the note says what differs."""


@dataclass(frozen=True)
class Times:
    """Summary of one entrant's samples, ms a call."""

    minimum: float
    quartile_1: float
    median: float
    quartile_3: float


@dataclass(frozen=True)
class Row:
    """One entrant under one number of threads."""

    entrant: str
    role: Role
    form: Form
    output: str
    num_threads: int
    status: Status
    note: str = ""
    num_samples: int = 0
    cpu_ms: Times | None = None
    wall_ms: Times | None = None
    ns_per_voxel: float | None = None
    """Least CPU time on one thread, least wall time on more."""
    bandwidth_share: float | None = None
    """Time that memory alone needs for the least traffic, over the time taken."""
    ratios: dict[str, Estimate] = dataclasses.field(default_factory=dict)
    """How many times as long as ours it takes, by ours: "out=@2" is ours on two threads."""
    extra_bytes_per_voxel: float | None = None
    """Peak of the resident set in a process of its own, beyond input and result."""


@dataclass(frozen=True)
class SceneResult:
    """All entrants on one input."""

    operator: str
    variant: str
    content: str
    shape: tuple[int, ...]
    rows: tuple[Row, ...]
    second_thread_gain: dict[str, Estimate]
    """How many times as fast ours is on two threads, by output."""
    by_others: float | None
    """Share of all processors' time that other processes used meanwhile."""


@dataclass(frozen=True)
class Bandwidth:
    """ns a byte of large buffers, by number of threads ("1", "2")."""

    read: dict[str, float]
    written: dict[str, float]
    label_copy: dict[str, float]
    """ns a voxel of reading 1 byte and writing 4, as labelling does."""


@dataclass(frozen=True)
class ColdBuild:
    """One operator's sources compiled into an empty folder."""

    operator: str
    seconds: float
    undefined_symbols: tuple[str, ...]
    """`at::` and `c10::` ones."""
    compiler: str


@dataclass(frozen=True)
class Report:
    """One run."""

    command: str
    date: str
    """UTC, ISO 8601."""
    is_quick: bool
    duration_s: float
    machine: dict[str, str]
    versions: dict[str, str]
    bandwidth: Bandwidth
    builds: tuple[ColdBuild, ...]
    scenes: tuple[SceneResult, ...]

    def write(self, path: Path) -> None:
        """Write as JSON."""
        text = json.dumps(_rounded(dataclasses.asdict(self)), indent=1)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", "utf-8")

    @staticmethod
    def read(path: Path) -> "Report":
        """Read what `write` wrote.

        Raises:
            ValueError: the file is not a benchmark's result, or another version's.
        """
        try:
            report: Report = _build(Report, json.loads(path.read_text("utf-8")))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"{path}: expected what --json writes, got {error!r}; run the benchmark again"
            ) from error
        return report


def _rounded(value: Any) -> Any:
    """Four digits are more than any of the figures has."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(one) for one in value]
    return value


def _build(kind: Any, value: Any) -> Any:
    """Dataclasses from dictionaries, by their annotations."""
    if get_origin(kind) in (Union, types.UnionType):
        inner = [one for one in get_args(kind) if one is not type(None)]
        return None if value is None else _build(inner[0], value)
    if get_origin(kind) is tuple:
        return tuple(_build(get_args(kind)[0], one) for one in value)
    if get_origin(kind) is dict:
        return {key: _build(get_args(kind)[1], one) for key, one in value.items()}
    if dataclasses.is_dataclass(kind):
        hints = get_type_hints(kind)
        fields = {name: _build(hints[name], one) for name, one in value.items()}
        made: Any = kind(**fields)  # type: ignore[operator]
        return made
    return value
