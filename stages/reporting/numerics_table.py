"""What the operator was asked before it was accepted, and what it answered."""

from stages.reporting.evidence import Evidence
from stages.reporting.table import Table
from stages.reporting.wording import number, say


def numerics_table(evidence: Evidence) -> Table:
    """One row a check; under a failed one the Python that shows the fault."""
    title = "Numerics of the operator 数值精度"
    numerics = evidence.numerics
    if numerics is None:
        return Table(title, (), (), "No custom operator reached the checks.")
    rows = tuple(
        (
            check.name,
            "✓" if check.passed else "✗",
            str(check.num_cases) if check.num_cases else "– not asked",
            say(check.largest_error) if check.largest_error.is_known else "",
            f"{check.seconds:.1f}",
            check.detail + (f" — {check.counter_example}" if check.counter_example else ""),
        )
        for check in numerics.checks
    )
    difference = evidence.embed.report_difference if evidence.embed else None
    notes = [
        f"Error against the standard form's own: {say(numerics.envelope_share)} times.",
        f"It grows with the number of elements to the power {say(numerics.error_slope)}.",
    ]
    if difference is not None and difference.value is not None:
        notes.append(
            f"In the product: what the job returns differs by at most {number(difference.value)} "
            "from the same job with the standard form."
        )
    headers = ("check", "", "calls", "largest error", "seconds", "what it means, or what failed")
    return Table(title, headers, rows, " ".join(notes))
