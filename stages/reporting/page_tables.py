"""The figures and tables of the record in reading order."""

from stages.contract import DecisionResult
from stages.reporting.answer_tables import answer_table, guide_table
from stages.reporting.evidence import Evidence, Terms
from stages.reporting.guide_table import example
from stages.reporting.numerics_table import numerics_table
from stages.reporting.option_table import option_table
from stages.reporting.outcome_tables import cost_table, forecast_table, scaling_table, target_table
from stages.reporting.setting_tables import finding_table, setting_table, stage_table
from stages.reporting.table import Table
from stages.reporting.wording import say, say_bytes, say_percent


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


def all_tables(decision: DecisionResult, evidence: Evidence, terms: Terms) -> tuple[Table, ...]:
    """In reading order: the decision first, the evidence after it."""
    return (
        target_table(evidence),
        guide_table(decision),
        answer_table("Checklist before a project starts 落地检查清单", decision.checklist),
        option_table(evidence),
        cost_table(evidence),
        answer_table("Questions", decision.questions),
        answer_table("Pitfalls 常见踩坑点", decision.pitfalls),
        numerics_table(evidence),
        forecast_table(decision),
        scaling_table(evidence),
        stage_table(decision),
        setting_table(evidence, terms),
        finding_table(evidence),
    )
