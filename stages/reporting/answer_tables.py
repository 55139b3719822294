"""The guide's own table, checklist, questions and pitfalls, as the record shows them."""

from stages.contract import Answer, DecisionResult
from stages.reporting.table import Table


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
