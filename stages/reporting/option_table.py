"""Every implementation of the operator that was looked at, and why it was rejected."""

from itertools import compress

from stages.contract import Candidate, Rung, unknown
from stages.reporting.evidence import Evidence
from stages.reporting.table import Table
from stages.reporting.wording import number, say, say_claim

HEADERS = (
    "candidate",
    "rung",
    "right",
    "operator alone",
    "end to end",
    "end to end p95",
    "outcome",
    "note",
)
NOT_EMBEDDED = unknown("not embedded")
MEASURED_PACKED = unknown("measured on the packed model alone, see Targets")
P95, NOTE = HEADERS.index("end to end p95"), HEADERS.index("note")


def option_table(evidence: Evidence) -> Table:
    """One row an option; without the columns that would say nothing here.

    The 95th percentile is shown where it is what the budget is held against.
    """
    candidates = evidence.support.candidates
    rows = [_row(candidate, evidence) for candidate in candidates]
    if evidence.build is not None:
        rows.append(_custom_row(evidence))
    is_told = [True] * len(HEADERS)
    is_told[P95] = evidence.support.context == "inference_graph" and any(
        candidate.p95_ms.is_known for candidate in candidates
    )
    is_told[NOTE] = any(candidate.note for candidate in candidates)
    headers, *told = (tuple(compress(row, is_told)) for row in (HEADERS, *rows))
    is_left_out = evidence.implementation.rung is Rung.none
    note = "Chosen: to do without the operator's logic." if is_left_out else ""
    return Table("Options looked at", headers, tuple(told), note)


def _row(candidate: Candidate, evidence: Evidence) -> tuple[str, ...]:
    return (
        candidate.name,
        candidate.rung.value,
        say_claim(candidate.is_right),
        say(candidate.time_ms, "ms"),
        say(candidate.end_to_end_ms, "ms"),
        say(candidate.p95_ms, "ms"),
        _say_outcome(candidate, evidence),
        candidate.note or "",
    )


def _custom_row(evidence: Evidence) -> tuple[str, ...]:
    embed, numerics = evidence.embed, evidence.numerics
    return (
        evidence.support.operator,
        Rung.custom.value,
        say_claim(numerics.verdict == "accepted" if numerics else None),
        say(embed.operator_ms if embed else NOT_EMBEDDED, "ms"),
        say(embed.embedded_ms if embed else NOT_EMBEDDED, "ms"),
        say(MEASURED_PACKED if embed else NOT_EMBEDDED),
        "chosen" if evidence.is_custom else f"rejected: {_last_word(evidence)}",
        "",
    )


def _last_word(evidence: Evidence) -> str:
    last = evidence.embed or evidence.numerics or evidence.build
    return last.reason if last else ""


def _say_outcome(candidate: Candidate, evidence: Evidence) -> str:
    chosen = evidence.implementation
    if (candidate.name, candidate.rung) == (chosen.name, chosen.rung):
        return "chosen"
    if candidate.disqualified_because:
        return f"rejected: {candidate.disqualified_because}"
    if candidate.is_right is False:
        return f"rejected: wrong, largest error {say(candidate.largest_error)}"
    own = candidate.end_to_end_ms.value
    best = evidence.embed.embedded_ms.value if evidence.is_custom and evidence.embed else None
    for other in evidence.support.candidates:
        if (other.name, other.rung) == (chosen.name, chosen.rung):
            best = other.end_to_end_ms.value
    if own is None:
        return f"rejected: no end-to-end time ({candidate.end_to_end_ms.reason})"
    if chosen.rung is Rung.none:
        return "rejected: the operator's logic is left out"
    if best is None:
        return f"rejected: {chosen.name} was preferred"
    if own > best:
        return f"rejected: {number(own)} ms end to end against {number(best)} ms of {chosen.name}"
    return f"rejected: a cheaper rung, {chosen.rung} ({chosen.name}), will do"
