"""The record as Markdown."""

from stages.contract import DecisionResult
from stages.reporting.evidence import Evidence, Terms
from stages.reporting.mermaid import draw_mermaid
from stages.reporting.page_tables import all_tables, key_figures
from stages.reporting.table import Table


def write_markdown(decision: DecisionResult, evidence: Evidence, terms: Terms) -> str:
    """`decision.md`: the verdict first."""
    lines = [
        decision.headline,
        "",
        f"Path: **{decision.nodes}** · operator {decision.operator} · "
        f"evidence valid until {decision.expires_on}",
        "",
        *(f"- {label}: {text}" for label, text in key_figures(decision, evidence, terms)),
        "",
    ]
    if decision.economics_are_examples:
        lines += ["> Prices are the repository's examples, not this product's own.", ""]
    lines += ["## The path taken", "", "```mermaid", draw_mermaid(evidence), "```", ""]
    lines += ["Thick: taken. Dashed: not in the guide, added here.", ""]
    for table in all_tables(decision, evidence, terms):
        lines += _write_table(table)
    lines += ["## This decision is reopened when", ""]
    lines += [f"- {trigger}" for trigger in decision.reopen_when]
    return "\n".join(lines) + "\n"


def _write_table(table: Table) -> list[str]:
    lines = [f"## {table.title}", ""]
    if table.note:
        lines += [_escape(table.note), ""]
    if table.rows:
        lines.append("| " + " | ".join(map(_escape, table.headers)) + " |")
        lines.append("|" + "---|" * len(table.headers))
        lines += ["| " + " | ".join(map(_escape, row)) + " |" for row in table.rows]
        lines.append("")
    return lines


def _escape(text: str) -> str:
    """Keep a cell in its cell."""
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("\n", "<br>")
