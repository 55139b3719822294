"""The job with the operator inside, against the job with the best standard form."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from kernels.folder import OperatorFolder
from stages.contract import (
    Figure,
    Implementation,
    Rung,
    Settings,
    implementation_of,
    operators_for,
    unknown,
)
from stages.evidence.scene import Run, Scene
from stages.evidence.whole_graph import export_whole, find_break
from stages.measuring.capture import Call
from stages.measuring.ratios import ratio, ratio_of_total, total
from stages.measuring.timing import Timing, time_interleaved
from stages.numerics.exporting import export_call

SIDE_LIMIT_S = 15.0
"""Time for the repeats of one side; a slow one gets fewer."""


@dataclass(frozen=True)
class Trial:
    """What embedding found."""

    compiles_fullgraph: bool
    is_exportable: bool
    baseline_ms: Figure
    embedded_ms: Figure
    operator_ms: Figure
    gain: Figure
    findings: tuple[str, ...]

    @classmethod
    def failed(cls, error: Exception) -> Self:
        """The job could not be run with the operator inside."""
        text = " ".join(str(error).split())[:300]
        reason = f"the job fails with the operator inside: {type(error).__name__}: {text}"
        nothing = unknown(reason)
        return cls(False, False, nothing, nothing, nothing, nothing, (reason,))


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
        runs["standard"] = _alone(_as_deployed(operator, standard, calls), calls)
    else:
        runs["embedded"] = scene.prepare({name: handle})
        runs["baseline"] = scene.prepare(operators_for(operator, standard))
    repeats, device = settings.algorithm.timing_repeats, settings.infrastructure.device
    timings = time_interleaved(runs, repeats, device, SIDE_LIMIT_S)
    baseline_ms, gain = _compare(timings)
    return Trial(
        compiles_fullgraph=broken is None,
        is_exportable=unexportable is None,
        baseline_ms=baseline_ms,
        embedded_ms=timings["embedded"].as_figure(),
        operator_ms=timings["operator"].as_figure(),
        gain=gain,
        findings=(
            f"in one compiled graph: {broken or 'yes'}",
            f"whole graph exported: {unexportable or 'yes'}",
        ),
    )


def _compare(timings: dict[str, Timing]) -> tuple[Figure, Figure]:
    """The baseline, whole or as the sum of its parts, and the gain over it."""
    embedded = timings["embedded"]
    if "baseline" in timings:
        return timings["baseline"].as_figure(), ratio(timings["baseline"], embedded)
    rest, standard = timings["rest"], timings["standard"]
    return total(rest, standard), ratio_of_total(rest, standard, embedded)


def _alone(handle: Callable[..., Any], calls: Sequence[Call]) -> Run:
    return lambda: [call.repeat(handle) for call in calls]


def _as_deployed(
    operator: OperatorFolder, standard: Implementation, calls: Sequence[Call]
) -> Callable[..., Any]:
    """A composition runs as the exported graph runs it; a compiled one as compiled."""
    implementation = implementation_of(operator, standard)
    if standard.rung is Rung.standard and len(calls) == 1:
        return export_call(implementation, (calls[0].args, calls[0].kwargs))
    return implementation
