"""What a kernel could bring to the job, forecast before anything is built."""

from collections.abc import Sequence
from dataclasses import dataclass

from stages.contract import Candidate, Economics, Figure, unknown
from stages.evidence.entrant import key_of
from stages.evidence.race import Race
from stages.evidence.stakes import Stakes
from stages.evidence.yardstick import Yardstick
from stages.measuring.bandwidth import measure_bandwidth
from stages.measuring.ratios import share, total_cv
from stages.measuring.timing import Timing
from stages.rules.economics import unweighed, weigh
from stages.rules.gain import (
    ThreePoint,
    ceiling,
    forecast_gain,
    forecast_kernel_ms,
    roofline_floor_ms,
)
from stages.rules.prices import Prospect
from stages.rules.support import Context, best_standard, compared_with_target


@dataclass(frozen=True)
class Forecast:
    """A kernel against the best standard implementation that may serve; the meanings are those of
    `SupportResult`."""

    baseline_ms: Figure
    share: Figure
    ceiling: Figure
    floor_ms: Figure
    operator_ms: Figure
    gain: Figure
    economics: Economics
    measurement_cv: Figure


def forecast_kernel(
    candidates: Sequence[Candidate],
    timed: Race,
    yardstick: Yardstick,
    context: Context,
    stakes: Stakes,
) -> Forecast:
    """Share, ceiling, floor, gain and economics; measures the memory's bandwidth."""
    best, rest = best_standard(candidates), timed.rest
    floor_ms = roofline_floor_ms(
        sum(call.args[0].numel() for call in yardstick.calls),
        yardstick.operator.spec.bytes_per_voxel,
        measure_bandwidth(yardstick.device),
    )
    kernel_ms = forecast_kernel_ms(floor_ms)
    nothing = unknown("no standard implementation may serve here")
    gain, share_figure, cv = nothing, nothing, nothing
    if best is not None and best.end_to_end_ms.value is not None:
        timing = timed.timings[key_of(best.rung, best.name)]
        share_figure, cv = share(timing, rest), total_cv(rest, timing)
        if kernel_ms is not None:
            gain = forecast_gain(best.end_to_end_ms.value, rest.median_ms, kernel_ms).as_figure()
    return Forecast(
        baseline_ms=nothing if best is None else best.end_to_end_ms,
        share=share_figure,
        ceiling=ceiling(share_figure),
        floor_ms=floor_ms,
        operator_ms=(
            unknown(f"no floor: {floor_ms.reason}") if kernel_ms is None else kernel_ms.as_figure()
        ),
        gain=gain,
        economics=_weigh(best, rest, kernel_ms, context, stakes),
        measurement_cv=cv,
    )


def _weigh(
    best: Candidate | None,
    rest: Timing,
    kernel_ms: ThreePoint | None,
    context: Context,
    stakes: Stakes,
) -> Economics:
    if best is None or kernel_ms is None:
        return unweighed(stakes.prices, "there is no baseline or no forecast to weigh")
    prospect = Prospect(
        baseline_ms=compared_with_target(best, context),
        rest_ms=rest.p95_ms if context == "inference_graph" else rest.median_ms,
        kernel_ms=kernel_ms,
        target_ms=stakes.target_ms.value,
    )
    return weigh(stakes.prices, prospect)
