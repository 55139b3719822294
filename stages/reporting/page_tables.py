"""The tables that the record shows beside its own: plain strings, for HTML and Markdown alike."""

from dataclasses import dataclass

from stages.contract import Answer, Candidate, DecisionResult, Rung
from stages.reporting.evidence import Evidence, Terms
from stages.reporting.table import example
from stages.reporting.wording import number, say, say_bytes, say_claim, say_percent


@dataclass(frozen=True)
class Table:
    """A titled table; the first column names the row."""

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def key_figures(
    decision: DecisionResult, evidence: Evidence, terms: Terms
) -> list[tuple[str, str]]:
    """The headline figures as label and text, the guide's three first."""
    figures = decision.figures
    cost = say(figures["compute_cost"], terms.currency)
    known_cost = example(cost, evidence) if figures["compute_cost"].is_known else cost
    return [
        (f"准确率 Accuracy ({terms.accuracy_metric})", say(figures["accuracy"])),
        ("推理延迟 Inference latency, p95", say(figures["latency_p95_ms"], "ms")),
        ("算力成本 Compute cost of training", known_cost),
        ("End-to-end gain of the operator", say(figures["end_to_end_gain"], "×")),
        ("Training step", say(figures["step_time_ms"], "ms")),
        ("Peak memory of training", say_bytes(figures["peak_memory_bytes"])),
        ("Scaling efficiency", say_percent(figures["scaling_efficiency"])),
    ]


def target_table(evidence: Evidence) -> Table:
    """Targets of the product manager against what was reached."""
    targets = evidence.model.targets if evidence.model else ()
    rows = tuple(
        (
            target.name,
            f"{number(target.wanted)} {target.unit}".strip(),
            say(target.reached, target.unit),
            say(target.difference, target.unit, with_interval=False),
            {True: "✓ met", False: "✗ missed", None: "? not known"}[target.is_met],
        )
        for target in targets
    )
    note = "" if rows else "No model was produced, so that no target could be reached."
    return Table("Targets", ("target", "wanted", "reached", "difference", ""), rows, note)


def candidate_table(evidence: Evidence) -> Table:
    """Every option that was looked at, and why it was rejected."""
    chosen = evidence.implementation
    rows = [
        (
            candidate.name,
            candidate.rung.value,
            say_claim(candidate.is_right),
            say(candidate.time_ms, "ms"),
            say(candidate.end_to_end_ms, "ms"),
            _say_outcome(candidate, evidence),
        )
        for candidate in evidence.support.candidates
    ]
    if evidence.build is not None:
        embed = evidence.embed
        rows.append(
            (
                evidence.support.operator,
                Rung.custom.value,
                say_claim(evidence.numerics.verdict == "accepted" if evidence.numerics else None),
                say(embed.operator_ms, "ms") if embed else "unknown: not embedded",
                say(embed.embedded_ms, "ms") if embed else "unknown: not embedded",
                "chosen" if evidence.is_custom else f"rejected: {_last_word(evidence)}",
            )
        )
    note = "" if chosen.rung is not Rung.none else "Chosen: to do without the operator's logic."
    headers = ("candidate", "rung", "right", "operator alone", "end to end", "outcome")
    return Table("Options looked at", headers, tuple(rows), note)


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


def cost_table(evidence: Evidence) -> Table:
    """What it costs, what it brings, and where it breaks even."""
    economics = evidence.support.economics
    months = economics.horizon_months
    rows = (
        (
            f"cost of a custom operator over {months} months",
            example(say(economics.cost, economics.currency), evidence),
        ),
        (
            f"benefit over {months} months",
            example(say(economics.benefit, economics.currency), evidence),
        ),
        ("benefit / cost", say(economics.benefit_cost_ratio)),
        ("probability of payback", say_percent(economics.payback_probability)),
        ("it pays if built in at most", say(economics.break_even_days, "person-days")),
        (
            "or if meeting the target is worth at least",
            say(economics.break_even_value_per_month, f"{economics.currency} a month"),
        ),
    )
    note = economics.sentence
    if economics.are_examples:
        note += " Prices are the repository's examples, not this product's own."
    return Table("Cost talk 成本估算", ("", "figure"), rows, note)


def forecast_table(decision: DecisionResult) -> Table:
    """Forecasts against outcomes."""
    rows = tuple(
        (
            forecast.name.replace(" (bytes)", ""),
            (say_bytes if "bytes" in forecast.name else say)(forecast.forecast),
            (say_bytes if "bytes" in forecast.name else say)(forecast.realised),
            say_percent(forecast.error, signed=True),
        )
        for forecast in decision.forecasts
    )
    return Table("Forecast and outcome", ("", "forecast", "outcome", "error"), rows)


def scaling_table(evidence: Evidence) -> Table:
    """Speed-up by the number of workers."""
    points = evidence.scaling.points if evidence.scaling else ()
    rows = tuple(
        (
            f"{point.num_workers} on {point.where}",
            "measured" if point.is_measured else "forecast",
            say(point.step_time_ms, "ms"),
            say(point.speedup, "×"),
            say_percent(point.efficiency),
            say(point.job_hours, "h", with_interval=False),
        )
        for point in points
    )
    note = evidence.scaling.reason if evidence.scaling else "Not probed: not over the budget."
    headers = ("workers", "", "step", "speed-up", "efficiency", "job")
    return Table("Scaling 扩展性", headers, rows, note)


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


def answer_table(title: str, answers: tuple[Answer, ...]) -> Table:
    """Questions with answer and evidence; checklist items with their tick."""
    ticks = {True: "✓ done", False: "✗ open", None: "– did not apply"}
    is_checklist = title.startswith("Checklist")
    rows = tuple(
        (
            answer.question,
            *((ticks[answer.is_settled],) if is_checklist else ()),
            answer.answer,
            answer.evidence,
        )
        for answer in answers
    )
    headers = ("item", "", "answer", "evidence") if is_checklist else ("", "answer", "evidence")
    return Table(title, headers, rows)


def guide_table(decision: DecisionResult) -> Table:
    """The guide's decision table."""
    rows = tuple((r.dimension, r.standard, r.custom, r.distributed) for r in decision.table)
    headers = (
        "dimension",
        "standard operators 标准框架方案",
        "custom operator 自定义算子方案",
        "distributed 分布式训练方案",
    )
    return Table("Decision table", headers, rows)


def all_tables(decision: DecisionResult, evidence: Evidence, terms: Terms) -> tuple[Table, ...]:
    """In reading order: the decision first, the evidence after it."""
    return (
        target_table(evidence),
        guide_table(decision),
        answer_table("Checklist before a project starts 落地检查清单", decision.checklist),
        candidate_table(evidence),
        cost_table(evidence),
        answer_table("Questions", decision.questions),
        answer_table("Pitfalls 常见踩坑点", decision.pitfalls),
        forecast_table(decision),
        scaling_table(evidence),
        stage_table(decision),
        setting_table(evidence, terms),
        finding_table(evidence),
    )
