"""The job with the operator inside, against the job with the best standard form."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from kernels.folder import OperatorFolder
from stages.contract import (
    Figure,
    Implementation,
    Rung,
    Settings,
    implementation_of,
    known,
    operators_for,
    unknown,
)
from stages.evidence.scene import Run, Scene
from stages.evidence.whole_graph import export_whole, find_break
from stages.measuring.capture import Call
from stages.measuring.ratios import ratio, ratio_of_total, total
from stages.measuring.timing import Timing
from stages.measuring.until_precise import is_within, time_until_precise
from stages.numerics.comparison import compare
from stages.numerics.exporting import WHOLE_GRAPH, export_call

SIDE_LIMIT_S = 15.0
"""Time for the repeats of one side in one block; a slow one gets fewer."""
PRECISE_WITHIN = 0.05
"""Fraction of its value to which the gain is wanted; below it, this is no more than a rerun
varies."""


@dataclass(frozen=True)
class Trial:
    """What embedding found."""

    compiles_fullgraph: bool
    is_exportable: bool
    baseline_ms: Figure
    embedded_ms: Figure
    operator_ms: Figure
    gain: Figure
    difference: Figure
    """Largest |with - without| / max(1, |without|) over all that the job returns."""
    findings: tuple[str, ...]

    @classmethod
    def failed(cls, error: Exception) -> Self:
        """The job could not be run with the operator inside."""
        text = " ".join(str(error).split())[:300]
        reason = f"the job fails with the operator inside: {type(error).__name__}: {text}"
        nothing = unknown(reason)
        return cls(False, False, nothing, nothing, nothing, nothing, nothing, (reason,))


def try_inside(
    scene: Scene,
    operator: OperatorFolder,
    custom: Implementation,
    standard: Implementation,
    settings: Settings,
) -> Trial:
    """Trace, export and time the job with and without the operator; what the job raises passes
    through."""
    name, handle = operator.spec.name, implementation_of(operator, custom)
    calls = scene.record(name, handle)
    broken = find_break(handle, calls)
    exported, unexportable = export_whole(scene, {name: handle})
    runs: dict[str, Run] = {"operator": _alone(handle, calls)}
    # A compiled form is no part of an exported graph: it is timed beside the graph around it.
    if scene.needs_export and exported and standard.rung is not Rung.none:
        runs["embedded"] = exported
        runs["rest"] = scene.prepare_rest(name, calls)
        runs["standard"] = _as_deployed(operator, standard, calls)
    else:
        runs["embedded"] = scene.prepare({name: handle})
        runs["baseline"] = scene.prepare(operators_for(operator, standard))
    repeats, device = settings.algorithm.timing_repeats, settings.infrastructure.device
    timings = time_until_precise(runs, repeats, device, _imprecise, SIDE_LIMIT_S)
    baseline_ms, gain = _compare(timings)
    return Trial(
        compiles_fullgraph=broken is None,
        is_exportable=unexportable is None,
        baseline_ms=baseline_ms,
        embedded_ms=timings["embedded"].as_figure(),
        operator_ms=timings["operator"].as_figure(),
        gain=gain,
        difference=_difference(runs["embedded"], scene.prepare(operators_for(operator, standard))),
        findings=(
            f"in one compiled graph: {broken or 'yes'}",
            f"whole graph exported: {unexportable or 'yes'}",
        ),
    )


def _difference(embedded: Run, standard: Run) -> Figure:
    """What the operator's rounding does to the product: the real case, with and without."""
    found = compare(embedded(), standard(), WHOLE_GRAPH)
    if found.largest == float("inf"):
        return unknown(f"the two differ in more than rounding: {found.detail}")
    return known(found.largest)


def _imprecise(timings: Mapping[str, Timing]) -> list[str]:
    """All that the gain stands on, as long as that is wide."""
    _, gain = _compare(timings)
    return [] if is_within(gain, PRECISE_WITHIN) else [key for key in timings if key != "operator"]


def _compare(timings: Mapping[str, Timing]) -> tuple[Figure, Figure]:
    """The baseline, whole or as the sum of its parts, and the gain over it."""
    embedded = timings["embedded"]
    if "baseline" in timings:
        return timings["baseline"].as_figure(), ratio(timings["baseline"], embedded)
    rest, standard = timings["rest"], timings["standard"]
    return total(rest, standard), ratio_of_total(rest, standard, embedded)


def _alone(handle: Callable[..., Any], calls: Sequence[Call]) -> Run:
    return lambda: [call.repeat(handle) for call in calls]


def _as_deployed(operator: OperatorFolder, standard: Implementation, calls: Sequence[Call]) -> Run:
    """A composition runs as the exported graph runs it; a compiled one as compiled."""
    implementation = implementation_of(operator, standard)
    if standard.rung is not Rung.standard:
        return _alone(implementation, calls)
    exported = [export_call(implementation, (call.args, call.kwargs)) for call in calls]
    return lambda: [call.repeat(one) for call, one in zip(calls, exported, strict=True)]
