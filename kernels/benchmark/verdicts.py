"""Hold a run against the targets."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from kernels.benchmark.fastest import fastest_peer
from kernels.benchmark.interval import Estimate
from kernels.benchmark.results import Report, Row, SceneResult
from kernels.benchmark.scene import ALLOCATING
from kernels.benchmark.targets import (
    FASTEST,
    LEAST_SIDE,
    MAX_BUILD_S,
    MEMORY_TARGETS,
    SECOND_THREAD,
    SPREADS,
    TARGETS,
    MemoryTarget,
    Spread,
    Target,
)
from kernels.benchmark.words import size_of

Outcome = Literal["met", "missed", "unclear", "not measured"]
"""unclear: the interval has the bound within it."""


@dataclass(frozen=True)
class Finding:
    """One measured figure that a target speaks of."""

    where: str
    figure: Estimate
    against: str
    outcome: Outcome


@dataclass(frozen=True)
class Verdict:
    """One target, and every figure that it speaks of."""

    operator: str
    what: str
    bound: str
    findings: tuple[Finding, ...]

    @property
    def outcome(self) -> Outcome:
        """The worst of its findings'."""
        for outcome in ("missed", "unclear", "met"):
            if any(finding.outcome == outcome for finding in self.findings):
                return outcome
        return "not measured"


def judge(report: Report) -> tuple[Verdict, ...]:
    """Every target, in the order of `targets.py`; those on builds last."""
    return (
        *(_on_ratio(target, report) for target in TARGETS),
        *(_on_spread(spread, report) for spread in SPREADS),
        *(_on_memory(target, report) for target in MEMORY_TARGETS),
        *_on_builds(report),
    )


def _on_ratio(target: Target, report: Report) -> Verdict:
    sign, bound = ("≥", target.at_least) if target.at_least is not None else ("≤", target.at_most)
    against = "" if target.against == FASTEST else f" {target.against}"
    findings = [
        Finding(f"{where}", figure, name, _outcome(figure, target.at_least, target.at_most))
        for scene in report.scenes
        if _speaks_of(target, scene)
        for where, figure, name in _figures(target, scene)
    ]
    return Verdict(target.operator, target.what, f"{sign} {bound:g}×{against}", tuple(findings))


def _speaks_of(target: Target, scene: SceneResult) -> bool:
    return (
        scene.operator == target.operator
        and scene.variant in target.variants
        and scene.content in target.contents
        and len(scene.shape) == target.num_axes
        and scene.shape[-1] >= LEAST_SIDE
        and (not target.sides or scene.shape[-1] in target.sides)
    )


def _figures(target: Target, scene: SceneResult) -> Iterator[tuple[str, Estimate, str]]:
    """Where, how many times as long (of what the target bounds), and beside whom."""
    where = size_of(scene.shape)
    if len(target.variants) > 1:
        where = f"{scene.variant} {where}"
    if len(target.contents) > 1:
        where = f"{scene.content} {where}"
    if target.against == SECOND_THREAD:
        output = target.output if target.output in scene.second_thread_gain else ALLOCATING
        if output in scene.second_thread_gain:
            yield where, scene.second_thread_gain[output], ""
        return
    peer = (
        fastest_peer(scene, target.num_threads, target.output)
        if target.against == FASTEST
        else _row_of(scene, target)
    )
    if peer is None:
        return
    figure = peer.ratios.get(f"{target.output}@{target.num_threads}")
    if figure is not None:
        yield where, figure if target.at_least is not None else figure.inverted(), peer.entrant


def _row_of(scene: SceneResult, target: Target) -> Row | None:
    rows = (
        row
        for row in scene.rows
        if row.entrant == target.against
        and row.form == "eager"
        and row.num_threads == target.num_threads
        and row.ns_per_voxel is not None
    )
    return next(rows, None)


def _outcome(figure: Estimate, at_least: float | None, at_most: float | None) -> Outcome:
    """The whole interval has to be on the right side; a figure without one is taken as it is."""
    low = figure.value if figure.low is None else figure.low
    high = figure.value if figure.high is None else figure.high
    if at_least is not None:
        return "met" if low >= at_least else "missed" if high < at_least else "unclear"
    assert at_most is not None
    return "met" if high <= at_most else "missed" if low > at_most else "unclear"


def _on_spread(spread: Spread, report: Report) -> Verdict:
    scenes = [
        scene
        for scene in report.scenes
        if scene.operator == spread.operator and scene.variant == spread.variant
    ]
    findings = []
    for start in scenes:
        for end in scenes:
            if (start.content, end.content) != (spread.from_content, spread.to_content):
                continue
            before, after = _our_ns(start), _our_ns(end)
            if start.shape == end.shape and before is not None and after is not None:
                figure = Estimate(after / before)
                outcome = _outcome(figure, None, spread.at_most)
                findings.append(Finding(size_of(start.shape), figure, "", outcome))
    return Verdict(spread.operator, spread.what, f"≤ {spread.at_most:g}×", tuple(findings))


def _our_ns(scene: SceneResult) -> float | None:
    rows = (row.ns_per_voxel for row in scene.rows if row.role == "ours" and row.num_threads == 1)
    return next((ns for ns in rows if ns is not None), None)


def _on_memory(target: MemoryTarget, report: Report) -> Verdict:
    findings = [
        Finding(
            f"{scene.content} {size_of(scene.shape)} {row.output}",
            Estimate(row.extra_bytes_per_voxel),
            "",
            _outcome(Estimate(row.extra_bytes_per_voxel), None, target.at_most),
        )
        for scene in report.scenes
        if scene.operator == target.operator
        for row in scene.rows
        if row.role == "ours" and row.extra_bytes_per_voxel is not None
    ]
    return Verdict(target.operator, target.what, f"≤ {target.at_most:g}", tuple(findings))


def _on_builds(report: Report) -> Iterator[Verdict]:
    for build in report.builds:
        seconds = Estimate(build.seconds)
        symbols = Estimate(float(len(build.undefined_symbols)))
        yield Verdict(
            build.operator,
            "cold build, s",
            f"≤ {MAX_BUILD_S:g}",
            (Finding("", seconds, "", _outcome(seconds, None, MAX_BUILD_S)),),
        )
        yield Verdict(
            build.operator,
            "undefined at:: and c10:: symbols",
            "0",
            (Finding("", symbols, "", _outcome(symbols, None, 0.0)),),
        )
