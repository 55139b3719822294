"""B: are standard operators enough, fast enough; if not, is a kernel worth its days?

Every implementation that exists is checked against the float64 reference and timed at the real
job's size; the rest of the job is timed with a stand-in; rules turn the figures into a verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from stages.contract import (
    Candidate,
    DataShape,
    Figure,
    Implementation,
    IngestResult,
    Operators,
    Rung,
    Settings,
    Stage,
    SupportResult,
    SupportVerdict,
    Workload,
    derive_data_shape,
    execute,
    known,
    load_workload,
    open_chosen,
    read,
    read_manifest,
    route,
    unknown,
)

if TYPE_CHECKING:
    from kernels.folder import OperatorFolder
    from stages.measuring.attempts import Attempt
    from stages.measuring.capture import Call
    from stages.measuring.timing import Timing
    from stages.numerics.correctness import Truth
    from stages.numerics.standing import Standing

REST = "rest"
"""Key of the job without the operator among the timings."""
TRUTHS_LIMIT_S = 15.0
"""The reference is slow by intent; a quiet machine needs a few seconds."""
CANDIDATE_LIMIT_S = 10.0
"""Time for the repeats of one candidate; slow ones get fewer."""
HOPELESS_FACTOR, HOPELESS_ABOVE_MS = 10.0, 2000.0
"""What takes seconds, and this many times as long as the quickest, is measured once: by its
first call."""
COMPILING_LIMIT_S = 60.0
"""Time for compiling all compositions; those left over are noted as not tried."""


@dataclass(frozen=True)
class Scene:
    """The real job, with whatever stands in for the operator."""

    context: Literal["inference_graph", "training_step"]
    prepare: Callable[[Operators], Callable[[], object]]
    """From handles to one run by Python: one inference or one training step."""
    prepare_rest: Callable[[Operators], Callable[[], object]]
    """The same as deployed."""
    target_ms: Figure
    value_per_month: float | None
    runs_per_year: float
    """Runs over which a saved second counts."""


@dataclass(frozen=True)
class Entrant:
    """One implementation, examined and called once at the real size."""

    name: str
    rung: Rung
    standing: Standing
    attempt: Attempt
    note: str | None


def check_support(settings: Settings) -> SupportResult:
    """Examine and time every standard implementation, and judge."""
    from stages.measuring.contention import Contention
    from stages.numerics.correctness import find_truths

    ingest = read(Stage.ingest_data, IngestResult)
    operator = open_chosen(settings.algorithm.operator)
    workload = load_workload(settings.training)
    shape = derive_data_shape(ingest, settings)
    scene = (
        _make_inference_scene(workload, ingest, shape, settings)
        if operator.spec.claim == "latency"
        else _make_training_scene(workload, ingest, shape, settings)
    )
    device = settings.infrastructure.device
    truths = find_truths(operator, TRUTHS_LIMIT_S)
    calls = _capture(operator, scene, truths, device)
    entrants = _examine(operator, scene, calls, truths, settings)
    with Contention() as contention:
        timings = _time(entrants, scene, operator, calls, settings)
    candidates = [_describe(entrant, timings, scene, settings) for entrant in entrants]
    print(f"rest of the job: {timings[REST].median_ms:,.4g} ms", flush=True)
    for candidate in candidates:
        _print(candidate)
    return _judge(operator, scene, calls, candidates, timings, contention.waiting, settings)


def _make_inference_scene(
    workload: Workload, ingest: IngestResult, shape: DataShape, settings: Settings
) -> Scene:
    from stages.imaging.full_case import load_full_case
    from stages.measuring.inference_graph import InferenceScene, typical_index
    from stages.numerics.exporting import export_and_reload

    cases = read_manifest()
    image, label = load_full_case(ingest, cases, shape, typical_index(cases))
    graph = InferenceScene(
        workload,
        shape,
        image,
        label,
        seed=settings.training.seed,
        device=settings.infrastructure.device,
    )
    is_exported = settings.product.deployment == "exported_graph"
    return Scene(
        context="inference_graph",
        prepare=graph.prepare,
        prepare_rest=partial(graph.deploy, deploy=export_and_reload)
        if is_exported
        else graph.prepare,
        target_ms=known(settings.product.latency_budget_ms),
        value_per_month=settings.product.value_per_month.latency,
        runs_per_year=settings.product.cases_per_year,
    )


def _make_training_scene(
    workload: Workload, ingest: IngestResult, shape: DataShape, settings: Settings
) -> Scene:
    from stages.imaging.reading import read_case
    from stages.training.rehearsal import rehearse

    prepare = rehearse(
        workload,
        read_manifest(),
        partial(read_case, label_map=ingest.label_map),
        shape,
        batch_size=settings.training.batch_size,
        seed=settings.training.seed,
        device=settings.infrastructure.device,
    )
    budget_ms = settings.product.training_hours_budget * 3600e3
    return Scene(
        context="training_step",
        prepare=prepare,
        prepare_rest=prepare,
        target_ms=known(budget_ms / settings.training.num_steps),
        value_per_month=settings.product.value_per_month.training_time,
        runs_per_year=0,  # nobody states how often it is trained
    )


def _capture(
    operator: OperatorFolder, scene: Scene, truths: Sequence[Truth], device: str
) -> tuple[Call, ...]:
    """The job's own inputs and outputs, by the first right implementation; libraries are
    quickest."""
    from stages.measuring.capture import capture
    from stages.numerics.correctness import find_right_implementation

    implementation = find_right_implementation(operator, truths, device)
    return capture(
        operator.spec.name,
        implementation,
        lambda operators: scene.prepare(operators)(),
        scene.context,
    )


def _examine(
    operator: OperatorFolder,
    scene: Scene,
    calls: Sequence[Call],
    truths: Sequence[Truth],
    settings: Settings,
) -> list[Entrant]:
    """Every rung: compositions as deployed, compositions compiled, libraries."""
    from stages.measuring.attempts import Attempt, attempt
    from stages.numerics.exporting import Outcome
    from stages.numerics.standing import Standing, find_standing

    device = settings.infrastructure.device
    like = calls[0].args[0]
    is_exported = (
        scene.context == "inference_graph" and settings.product.deployment == "exported_graph"
    )
    entrants = []
    for composition in operator.compositions:
        standing = find_standing(composition.call, operator, truths, like, device)
        note = composition.summary
        if is_exported and standing.export.passed:
            note += "; timed as the exported graph runs it"
            tried = _attempt_exported(composition.call, calls)
        else:
            tried = attempt([composition.call] * len(calls), calls)
        wrong = _compare(tried, calls, operator)
        if wrong:
            standing = replace(standing, is_right=False, detail=wrong)
        entrants.append(Entrant(composition.name, Rung.standard, standing, tried, note))
    entrants += _examine_compiled(operator, calls, truths, entrants, device)
    for library in operator.libraries:
        note = f"{library.licence}, {_version(library.distribution)}"
        try:
            adapter = library.load()
        except ImportError:
            reason = f"{library.distribution} is not installed"
            absent = Attempt(None, (), 0.0, reason)
            standing = Standing(None, unknown(reason), reason, None, Outcome(False, reason))
            entrants.append(Entrant(library.name, Rung.library, standing, absent, library.licence))
            continue
        standing = find_standing(adapter, operator, truths, like, device)
        tried = attempt([adapter] * len(calls), calls)
        entrants.append(Entrant(library.name, Rung.library, standing, tried, note))
    return entrants


def _examine_compiled(
    operator: OperatorFolder,
    calls: Sequence[Call],
    truths: Sequence[Truth],
    eager: Sequence[Entrant],
    device: str,
) -> list[Entrant]:
    """The right compositions, compiled for the job's inputs, best first, as long as time is
    left."""
    from stages.measuring.attempts import Attempt, attempt_compiled
    from stages.numerics.standing import check_tracing

    entrants, left_s = [], COMPILING_LIMIT_S
    for composition, entrant in zip(operator.compositions, eager, strict=True):
        standing, note = entrant.standing, None
        tried = Attempt(None, (), 0.0, "the composition itself is not right")
        if standing.is_right and left_s <= 0:
            tried = Attempt(None, (), 0.0, f"not compiled: {COMPILING_LIMIT_S:g} s were used up")
        elif standing.is_right:
            traced = check_tracing(composition.call, operator, truths, calls[0].args[0], device)
            if traced.passed:
                tried, compile_s = attempt_compiled(composition.call, calls, left_s)
                left_s -= compile_s
                note = f"compiled in {compile_s:.1f} s"
                wrong = _compare(tried, calls, operator)
                if wrong:
                    standing = replace(standing, is_right=False, detail=wrong)
            else:
                tried = Attempt(None, (), 0.0, traced.reason)
        entrants.append(Entrant(composition.name, Rung.compiled, standing, tried, note))
    return entrants


def _attempt_exported(implementation: Callable[..., Any], calls: Sequence[Call]) -> Attempt:
    """As the deployment runs it: exported for the real inputs, saved, loaded."""
    from stages.measuring.attempts import Attempt, attempt
    from stages.numerics.exporting import export_call, summarise

    try:
        exported = [export_call(implementation, (call.args, call.kwargs)) for call in calls]
    except Exception as error:  # whatever a pass of the exporter raises
        return Attempt(None, (), 0.0, f"not exported at the real size: {summarise(error)}")
    return attempt(exported, calls)


def _compare(tried: Attempt, calls: Sequence[Call], operator: OperatorFolder) -> str | None:
    """What differs at the real size from the captured run, beyond the tolerance of either."""
    from kernels.operator import Tolerance
    from stages.numerics.comparison import compare, tolerance_for

    for call, result in zip(calls, tried.results, strict=False):
        expected = call.output if call.gradient is None else call.gradient
        one = tolerance_for(operator.spec.tolerances, (call.args, call.kwargs))
        both = Tolerance(2 * one.absolute, 2 * one.relative, "each of the two may use up its own")
        found = compare(result, expected, both)
        if not found.is_within:
            return f"at the real size: {found.detail}"
    return None


def _time(
    entrants: Sequence[Entrant],
    scene: Scene,
    operator: OperatorFolder,
    calls: Sequence[Call],
    settings: Settings,
) -> dict[str, Timing]:
    """The rest of the job, and every entrant that could be called, interleaved."""
    from stages.measuring.substitution import stand_in
    from stages.measuring.timing import Timing, time_interleaved

    runs = {REST: scene.prepare_rest({operator.spec.name: stand_in(calls)})}
    called = {_key(e): e.attempt for e in entrants if e.attempt.run is not None}
    quickest_ms = min((tried.first_ms for tried in called.values()), default=0.0)
    hopeless = {
        key: Timing((tried.first_ms,))
        for key, tried in called.items()
        if tried.first_ms > max(HOPELESS_FACTOR * quickest_ms, HOPELESS_ABOVE_MS)
    }
    warmed = {key: tried.first_ms for key, tried in called.items() if key not in hopeless}
    runs |= {key: tried.run for key, tried in called.items() if key in warmed and tried.run}
    timings = time_interleaved(
        runs,
        settings.algorithm.timing_repeats,
        settings.infrastructure.device,
        CANDIDATE_LIMIT_S,
        warmed_ms=warmed,
    )
    return timings | hopeless


def _describe(
    entrant: Entrant, timings: Mapping[str, Timing], scene: Scene, settings: Settings
) -> Candidate:
    """Everything that was found out about one implementation."""
    from stages.measuring.ratios import total, total_p95
    from stages.rules.candidates import find_disqualification

    standing, timing = entrant.standing, timings.get(_key(entrant))
    if timing is None:
        time_ms = end_to_end_ms = p95_ms = unknown(entrant.attempt.failure or "not called")
    else:
        time_ms = timing.as_figure()
        end_to_end_ms = total(timings[REST], timing)
        p95_ms = total_p95(timings[REST], timing)
    is_right_but_unexportable = standing.is_right and not standing.export.passed
    because = find_disqualification(
        rung=entrant.rung,
        context=scene.context,
        deployment=settings.product.deployment,
        is_right=standing.is_right,
        is_differentiable=standing.is_differentiable,
        is_exportable=standing.export.passed,
        time_ms=time_ms,
        detail=(standing.export.reason or "") if is_right_but_unexportable else standing.detail,
    )
    return Candidate(
        name=entrant.name,
        rung=entrant.rung,
        is_right=standing.is_right,
        largest_error=standing.largest_error,
        is_differentiable=standing.is_differentiable,
        is_exportable=standing.export.passed if standing.is_right else None,
        qualifies=because is None,
        disqualified_because=because,
        time_ms=time_ms,
        end_to_end_ms=end_to_end_ms,
        p95_ms=p95_ms,
        note=entrant.note,
    )


def _judge(
    operator: OperatorFolder,
    scene: Scene,
    calls: Sequence[Call],
    candidates: Sequence[Candidate],
    timings: Mapping[str, Timing],
    waiting: Figure,
    settings: Settings,
) -> SupportResult:
    """Share, ceiling, floor, forecast, economics, verdict, and where it leads."""
    from stages.measuring.bandwidth import measure_bandwidth
    from stages.measuring.ratios import share, total_cv
    from stages.rules.economics import unweighed, weigh
    from stages.rules.gain import ceiling, forecast_gain, forecast_kernel_ms, roofline_floor_ms
    from stages.rules.prices import Prospect, prices_from
    from stages.rules.support import (
        Evidence,
        best_standard,
        compared_with_target,
        judge_support,
        propose_next,
    )

    best, rest = best_standard(candidates), timings[REST]
    nothing = unknown("no standard implementation may serve here")
    floor_ms = roofline_floor_ms(
        sum(call.args[0].numel() for call in calls),
        operator.spec.bytes_per_voxel,
        measure_bandwidth(settings.infrastructure.device),
    )
    kernel_ms = forecast_kernel_ms(floor_ms)
    gain, share_figure, cv = nothing, nothing, nothing
    if best is not None and best.end_to_end_ms.value is not None:
        timing = timings[f"{best.rung}:{best.name}"]
        share_figure, cv = share(timing, rest), total_cv(rest, timing)
        if kernel_ms is not None:
            gain = forecast_gain(best.end_to_end_ms.value, rest.median_ms, kernel_ms).as_figure()
    prices = prices_from(settings, scene.value_per_month, scene.runs_per_year)
    if best is None or kernel_ms is None:
        economics = unweighed(prices, "there is no baseline or no forecast to weigh")
    else:
        is_case = scene.context == "inference_graph"
        prospect = Prospect(
            baseline_ms=compared_with_target(best, scene.context),
            rest_ms=rest.p95_ms if is_case else rest.median_ms,
            kernel_ms=kernel_ms,
            target_ms=scene.target_ms.value,
        )
        economics = weigh(prices, prospect)
    judgement = judge_support(
        Evidence(
            context=scene.context,
            candidates=candidates,
            target_ms=scene.target_ms,
            ceiling=ceiling(share_figure),
            forecast_gain=gain,
            economics=economics,
            measurement_cv=cv,
            waiting=waiting,
        )
    )
    claim = operator.spec.claim
    proposed = propose_next(judgement.verdict, claim)
    following, addition = route(
        Stage.check_support,
        judgement.verdict,
        proposed,
        Stage.probe_budget,
        settings.product.verdicts_needing_approval,
    )
    # An accuracy that nobody has tried out is not bought: the job goes on without the operator.
    is_left_out = claim == "accuracy" and following is Stage.probe_budget
    return SupportResult(
        stage=Stage.check_support,
        next=following,
        reason=judgement.reason + addition,
        verdict=judgement.verdict,
        operator=operator.spec.name,
        context=scene.context,
        claim=claim,
        input_shape=tuple(calls[0].args[0].shape),
        candidates=tuple(candidates),
        rest_ms=rest.as_figure(),
        baseline_ms=nothing if best is None else best.end_to_end_ms,
        target_ms=scene.target_ms,
        share=share_figure,
        ceiling=ceiling(share_figure),
        floor_ms=floor_ms,
        forecast_operator_ms=(
            unknown(f"no floor: {floor_ms.reason}") if kernel_ms is None else kernel_ms.as_figure()
        ),
        forecast_gain=gain,
        economics=economics,
        implementation=(
            Implementation(rung=Rung.none, name="none") if is_left_out else judgement.implementation
        ),
        worth_building=judgement.verdict is SupportVerdict.build,
        measurement_cv=cv,
        waiting=waiting,
    )


def _key(entrant: Entrant) -> str:
    return f"{entrant.rung}:{entrant.name}"


def _version(distribution: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"{distribution} {version(distribution)}"
    except PackageNotFoundError:
        return f"{distribution} of unknown version"


def _print(candidate: Candidate) -> None:
    """One line for the flow's log."""
    time_ms, fate = candidate.time_ms.value, candidate.disqualified_because or "may serve"
    took = "not timed" if time_ms is None else f"{time_ms:,.4g} ms"
    print(f"{candidate.rung} {candidate.name}: {took}, {fate}", flush=True)


def main() -> None:
    """Run as `python -m stages.check_support`."""
    execute(Stage.check_support, check_support)


if __name__ == "__main__":
    main()
