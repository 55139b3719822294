"""E: is the operator in the graph without breaks, and is the promised gain real end to end?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from stages.contract import (
    EmbedResult,
    EmbedVerdict,
    Figure,
    Implementation,
    IngestResult,
    Operators,
    PilotResult,
    Rung,
    Settings,
    Stage,
    SupportResult,
    derive_data_shape,
    execute,
    implementation_of,
    known,
    load_workload,
    open_chosen,
    operators_for,
    read,
    read_if_taken,
    read_manifest,
    unknown,
)

if TYPE_CHECKING:
    from kernels.folder import OperatorFolder
    from stages.measuring.capture import Call

CANDIDATE_LIMIT_S = 15.0
"""Time for the repeats of one side; a slow one gets fewer."""


@dataclass(frozen=True)
class Scene:
    """The real job, with whatever stands in for the operator."""

    prepare: Callable[[Operators], Callable[[], object]]
    """From handles to one run by Python."""
    prepare_exported: Callable[[Operators], Callable[[], object]] | None
    """The same with the whole graph exported, saved and loaded; None for a training step."""


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


def embed_operator(settings: Settings) -> EmbedResult:
    """Put the operator into the report graph or the training step, and measure with and without.

    Embedded only if the interval of the gain lies above 1 and the graph exports where it must; an
    operator that fails here is an answer: the path goes on with the best standard form.
    """
    operator = open_chosen(settings.algorithm.operator)
    support = read(Stage.check_support, SupportResult)
    pilot = read_if_taken(Stage.pilot_accuracy, PilotResult)
    standard = (pilot or support).implementation
    custom = Implementation(rung=Rung.custom, name=operator.spec.name)
    needs_export = (
        support.context == "inference_graph" and settings.product.deployment == "exported_graph"
    )
    try:
        trial = _try(operator, standard, custom, support, needs_export, settings)
    except Exception as error:  # an operator that breaks the job is refused, not the run
        text = " ".join(str(error).split())[:300]
        trial = _nothing(f"the job fails with the operator inside: {type(error).__name__}: {text}")
    refusals = _find_refusals(trial, needs_export)
    gain, forecast = trial.gain, support.forecast_gain
    return EmbedResult(
        stage=Stage.embed_operator,
        next=Stage.probe_budget,
        reason=_say(operator.spec.name, trial, forecast, refusals, standard),
        verdict=EmbedVerdict.rejected if refusals else EmbedVerdict.embedded,
        compiles_fullgraph=trial.compiles_fullgraph,
        is_exportable=trial.is_exportable,
        baseline_ms=trial.baseline_ms,
        embedded_ms=trial.embedded_ms,
        operator_ms=trial.operator_ms,
        realised_gain=gain,
        forecast_gain=forecast,
        forecast_error=(
            known((forecast.value - gain.value) / gain.value)
            if forecast.value is not None and gain.value is not None
            else unknown("needs a forecast and a realised gain")
        ),
        findings=(*trial.findings, *refusals),
        implementation=standard if refusals else custom,
    )


def _try(
    operator: OperatorFolder,
    standard: Implementation,
    custom: Implementation,
    support: SupportResult,
    needs_export: bool,
    settings: Settings,
) -> Trial:
    from stages.measuring.capture import capture
    from stages.measuring.ratios import ratio, ratio_of_total, total
    from stages.measuring.substitution import stand_in
    from stages.measuring.timing import time_interleaved

    scene = _make_scene(support, settings)
    name = operator.spec.name
    handle = implementation_of(operator, custom)
    calls = capture(name, handle, lambda operators: scene.prepare(operators)(), support.context)
    traced = _trace(handle, operator, calls)
    exported, unexportable = _export(scene, {name: handle})
    findings = [f"in one compiled graph: {traced or 'yes'}"]
    findings.append(f"whole graph exported: {unexportable or 'yes'}")
    runs = {"operator": _alone(handle, calls)}
    # A compiled form is no part of an exported graph: it is timed beside the graph around it.
    if needs_export and exported and scene.prepare_exported and standard.rung is not Rung.none:
        runs["embedded"] = exported
        runs["rest"] = scene.prepare_exported({name: stand_in(calls)})
        runs["standard"] = _alone(_as_deployed(operator, standard, calls), calls)
    else:
        runs["embedded"] = scene.prepare({name: handle})
        runs["baseline"] = scene.prepare(operators_for(operator, standard))
    timings = time_interleaved(
        runs, settings.algorithm.timing_repeats, settings.infrastructure.device, CANDIDATE_LIMIT_S
    )
    if "rest" in timings:
        baseline_ms = total(timings["rest"], timings["standard"])
        gain = ratio_of_total(timings["rest"], timings["standard"], timings["embedded"])
    else:
        baseline_ms = timings["baseline"].as_figure()
        gain = ratio(timings["baseline"], timings["embedded"])
    return Trial(
        compiles_fullgraph=traced is None,
        is_exportable=unexportable is None,
        baseline_ms=baseline_ms,
        embedded_ms=timings["embedded"].as_figure(),
        operator_ms=timings["operator"].as_figure(),
        gain=gain,
        findings=tuple(findings),
    )


def _make_scene(support: SupportResult, settings: Settings) -> Scene:
    ingest = read(Stage.ingest_data, IngestResult)
    workload = load_workload(settings.training)
    shape = derive_data_shape(ingest, settings)
    cases, device = read_manifest(), settings.infrastructure.device
    if support.context == "training_step":
        from stages.imaging.reading import read_case
        from stages.training.rehearsal import rehearse

        prepare = rehearse(
            workload,
            cases,
            partial(read_case, label_map=ingest.label_map),
            shape,
            batch_size=settings.training.batch_size,
            seed=settings.training.seed,
            device=device,
        )
        return Scene(prepare, None)
    from stages.imaging.full_case import load_full_case
    from stages.measuring.inference_graph import InferenceScene, typical_index
    from stages.numerics.exporting import export_and_reload

    image, label = load_full_case(ingest, cases, shape, typical_index(cases))
    graph = InferenceScene(
        workload, shape, image, label, seed=settings.training.seed, device=device
    )
    return Scene(graph.prepare, partial(graph.deploy, deploy=export_and_reload))


def _export(scene: Scene, handles: Operators) -> tuple[Callable[[], object] | None, str | None]:
    """The job as an exported graph, or why there is none."""
    from stages.numerics.exporting import find_graph_difference, summarise

    if scene.prepare_exported is None:
        return None, "a training step is not exported"
    try:
        exported = scene.prepare_exported(handles)
        difference = find_graph_difference(exported(), scene.prepare(handles)())
    except Exception as error:  # whatever a pass of the exporter, or the operator, raises
        return None, summarise(error)
    return (exported, None) if difference is None else (None, f"differs: {difference}")


def _trace(
    handle: Callable[..., Any], operator: OperatorFolder, calls: Sequence[Call]
) -> str | None:
    """Why a graph that calls the operator does not compile whole; None when it does."""
    import torch

    from stages.measuring.attempts import attempt

    torch._dynamo.reset()
    compiled = torch.compile(handle, fullgraph=True, dynamic=False, backend="aot_eager")
    return attempt([compiled] * len(calls), calls).failure


def _alone(handle: Callable[..., Any], calls: Sequence[Call]) -> Callable[[], object]:
    return lambda: [call.repeat(handle) for call in calls]


def _as_deployed(
    operator: OperatorFolder, standard: Implementation, calls: Sequence[Call]
) -> Callable[..., Any]:
    """A composition runs as the exported graph runs it; a compiled one as compiled."""
    from stages.numerics.exporting import export_call

    implementation = implementation_of(operator, standard)
    if standard.rung is Rung.standard and len(calls) == 1:
        return export_call(implementation, (calls[0].args, calls[0].kwargs))
    return implementation


def _find_refusals(trial: Trial, needs_export: bool) -> tuple[str, ...]:
    from stages.measuring.ratios import is_gain

    refusals = []
    if trial.gain.value is None:
        refusals.append(f"no gain was measured: {trial.gain.reason}")
    elif not is_gain(trial.gain):
        refusals.append(f"the gain, {_describe(trial.gain)}, is not certain to be above 1")
    if needs_export and not trial.is_exportable:
        refusals.append("the whole graph does not export with the operator inside")
    if not trial.compiles_fullgraph:
        refusals.append("a graph that calls the operator does not compile whole")
    return tuple(refusals)


def _nothing(reason: str) -> Trial:
    figure = unknown(reason)
    return Trial(False, False, figure, figure, figure, figure, (reason,))


def _say(
    operator: str,
    trial: Trial,
    forecast: Figure,
    refusals: Sequence[str],
    standard: Implementation,
) -> str:
    if refusals:
        return (
            f"{operator} is not embedded: {'; '.join(refusals)}. "
            f"The path goes on with {standard.rung} {standard.name}."
        )
    return (
        f"{operator} is embedded: {trial.embedded_ms.value:,.4g} ms end to end instead of "
        f"{trial.baseline_ms.value:,.4g} ms, a gain of {_describe(trial.gain)} against a "
        f"forecast of {_describe(forecast)}."
    )


def _describe(figure: Figure) -> str:
    if figure.value is None:
        return "unknown"
    if figure.low is None or figure.high is None:
        return f"{figure.value:.3g}"
    return f"{figure.value:.3g} ({figure.low:.3g} to {figure.high:.3g})"


def main() -> None:
    """Run as `python -m stages.embed_operator`."""
    execute(Stage.embed_operator, embed_operator)


if __name__ == "__main__":
    main()
