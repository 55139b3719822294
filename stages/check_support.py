"""B: are standard operators enough, fast enough; if not, is a kernel worth its days?

Every implementation that exists is checked against the float64 reference and timed at the real
job's size; the rest of the job is timed with a stand-in; rules turn the figures into a verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stages.contract import (
    Candidate,
    Figure,
    Implementation,
    IngestResult,
    Rung,
    Settings,
    Stage,
    SupportResult,
    SupportVerdict,
    execute,
    load_workload,
    open_chosen,
    read,
    read_manifest,
    route,
)

if TYPE_CHECKING:
    from stages.evidence.forecast import Forecast
    from stages.evidence.race import Race
    from stages.evidence.yardstick import Yardstick
    from stages.rules.support import Context


def check_support(settings: Settings) -> SupportResult:
    """Examine and time every standard implementation, and judge."""
    from stages.evidence.description import describe, in_one_line
    from stages.evidence.forecast import forecast_kernel
    from stages.evidence.race import race
    from stages.evidence.rungs import examine_all
    from stages.evidence.scene import context_of, make_scene
    from stages.evidence.stakes import find_stakes
    from stages.evidence.yardstick import make_yardstick

    ingest = read(Stage.ingest_data, IngestResult)
    operator = open_chosen(settings.algorithm.operator)
    workload = load_workload(settings.training)
    context = context_of(operator.spec.claim)
    scene = make_scene(context, ingest, workload, read_manifest(), settings)
    yardstick = make_yardstick(operator, scene, settings.infrastructure.device)
    entrants = examine_all(yardstick, scene.needs_export)
    timed = race(entrants, scene, yardstick, settings.algorithm.timing_repeats)
    deployment = settings.product.deployment
    candidates = [describe(entrant, timed, context, deployment) for entrant in entrants]
    print(f"rest of the job: {timed.rest.median_ms:,.4g} ms", flush=True)
    for candidate in candidates:
        print(in_one_line(candidate), flush=True)
    stakes = find_stakes(context, settings)
    forecast = forecast_kernel(candidates, timed, yardstick, context, stakes)
    return _judge(yardstick, context, candidates, timed, stakes.target_ms, forecast, settings)


def _judge(
    yardstick: Yardstick,
    context: Context,
    candidates: Sequence[Candidate],
    timed: Race,
    target_ms: Figure,
    forecast: Forecast,
    settings: Settings,
) -> SupportResult:
    """The verdict, and where it leads."""
    from stages.rules.support import Evidence, judge_support, propose_next

    spec = yardstick.operator.spec
    judgement = judge_support(
        Evidence(
            context=context,
            candidates=candidates,
            target_ms=target_ms,
            ceiling=forecast.ceiling,
            forecast_gain=forecast.gain,
            economics=forecast.economics,
            measurement_cv=forecast.measurement_cv,
            waiting=timed.waiting,
        )
    )
    following, addition = route(
        Stage.check_support,
        judgement.verdict,
        propose_next(judgement.verdict, spec.claim),
        Stage.probe_budget,
        settings.product.verdicts_needing_approval,
    )
    # An accuracy that nobody has tried out is not bought: the job goes on without the operator.
    is_left_out = spec.claim == "accuracy" and following is Stage.probe_budget
    return SupportResult(
        stage=Stage.check_support,
        next=following,
        reason=judgement.reason + addition,
        verdict=judgement.verdict,
        operator=spec.name,
        context=context,
        claim=spec.claim,
        input_shape=tuple(yardstick.calls[0].args[0].shape),
        candidates=tuple(candidates),
        rest_ms=timed.rest.as_figure(),
        baseline_ms=forecast.baseline_ms,
        target_ms=target_ms,
        share=forecast.share,
        ceiling=forecast.ceiling,
        floor_ms=forecast.floor_ms,
        forecast_operator_ms=forecast.operator_ms,
        forecast_gain=forecast.gain,
        economics=forecast.economics,
        implementation=(
            Implementation(rung=Rung.none, name="none") if is_left_out else judgement.implementation
        ),
        worth_building=judgement.verdict is SupportVerdict.build,
        measurement_cv=forecast.measurement_cv,
        waiting=timed.waiting,
    )


def main() -> None:
    """Run as `python -m stages.check_support`."""
    execute(Stage.check_support, check_support)


if __name__ == "__main__":
    main()
