"""What the decision rests on: its stages, terms, data and machine."""

from stages.contract import DecisionResult
from stages.reporting.evidence import Evidence, Terms
from stages.reporting.table import Table
from stages.reporting.wording import number


def stage_table(decision: DecisionResult) -> Table:
    """Every stage, taken or not, with its reason."""
    rows = tuple(
        (
            summary.stage.value,
            summary.node,
            "taken" if summary.was_taken else "not taken",
            (summary.verdict or "").replace("_", " "),
            summary.reason,
        )
        for summary in decision.stages
    )
    return Table("Stages", ("stage", "node", "", "verdict", "reason"), rows)


def setting_table(evidence: Evidence, terms: Terms) -> Table:
    """Thresholds, data and machine: what the decision holds for."""
    environment, ingest = evidence.environment, evidence.ingest
    versions = ", ".join(f"{name} {version}" for name, version in environment.versions.items())
    latency, budget = number(terms.latency_budget_ms), number(terms.compute_budget)
    rows = (
        ("accuracy target", f"{terms.accuracy_metric} at least {number(terms.accuracy_target)}"),
        ("latency budget", f"{latency} ms, 95th percentile"),
        ("training budget", f"{number(terms.training_hours_budget)} h, {budget} {terms.currency}"),
        ("most workers", str(terms.max_workers)),
        ("operator", terms.operator),
        (
            "data",
            f"{ingest.name} ({ingest.kind}): {ingest.num_cases} cases, "
            f"{ingest.num_patients} patients; {ingest.source}",
        ),
        ("data digest", ingest.data_digest),
        (
            "machine",
            f"{environment.cpu_model}, {environment.num_cores} cores, "
            f"{environment.memory_bytes / 2**30:.1f} GiB; "
            f"GPUs: {', '.join(environment.gpus) or 'none'}",
        ),
        (
            "system",
            f"{environment.operating_system}; Python {environment.python_version}; "
            f"{environment.compiler or 'no C++ compiler'}",
        ),
        ("versions", versions),
    )
    return Table("Under these terms", ("", ""), rows)


def finding_table(evidence: Evidence) -> Table:
    """What validation remarked on in data that it accepted."""
    rows = tuple(
        (finding.severity.value, finding.case, finding.check, finding.found, finding.remedy)
        for finding in evidence.validation.findings
    )
    note = "" if rows else "Nothing."
    return Table(
        "Remarks on the data", ("severity", "case", "check", "found", "remedy"), rows, note
    )
