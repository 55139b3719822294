"""Everything that was found out about one implementation, as the result tells it."""

from typing import Literal

from stages.contract import Candidate, unknown
from stages.evidence.entrant import Entrant
from stages.evidence.race import Race
from stages.measuring.ratios import total, total_p95
from stages.rules.candidates import find_disqualification
from stages.rules.support import Context


def describe(
    entrant: Entrant,
    timed: Race,
    context: Context,
    deployment: Literal["python", "exported_graph"],
) -> Candidate:
    """What it takes, alone and end to end, and whether it may serve there."""
    standing, timing = entrant.standing, timed.timings.get(entrant.key)
    if timing is None:
        time_ms = end_to_end_ms = p95_ms = unknown(entrant.attempt.failure or "not called")
    else:
        time_ms = timing.as_figure()
        end_to_end_ms = total(timed.rest, timing)
        p95_ms = total_p95(timed.rest, timing)
    is_right_but_unexportable = standing.is_right and not standing.export.passed
    because = find_disqualification(
        rung=entrant.rung,
        context=context,
        deployment=deployment,
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


def in_one_line(candidate: Candidate) -> str:
    """For the flow's log."""
    time_ms, fate = candidate.time_ms.value, candidate.disqualified_because or "may serve"
    took = "not timed" if time_ms is None else f"{time_ms:,.4g} ms"
    return f"{candidate.rung} {candidate.name}: {took}, {fate}"
