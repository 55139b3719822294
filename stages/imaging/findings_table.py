"""Findings for people: plain text, one line each, and an HTML table."""

from collections.abc import Sequence
from html import escape

from stages.contract import Finding

_HEADINGS = ("severity", "case", "check", "expected", "found", "remedy")


def format_findings(findings: Sequence[Finding]) -> str:
    """One line a finding, the narrow columns aligned; "no findings" without any."""
    if not findings:
        return "no findings"
    widths = [max(len(_cells(f)[i]) for f in findings) for i in range(3)]
    lines = []
    for finding in findings:
        severity, case, check, expected, found, remedy = _cells(finding)
        start = f"{severity:<{widths[0]}}  {case:<{widths[1]}}  {check:<{widths[2]}}"
        lines.append(f"{start}  expected {expected}; found {found}; {remedy}")
    return "\n".join(lines)


def findings_page(title: str, findings: Sequence[Finding]) -> str:
    """A page of its own, without scripts or anything from elsewhere."""
    head = "".join(f"<th>{heading}</th>" for heading in _HEADINGS)
    rows = "\n".join(
        f'<tr class="{f.severity}">' + "".join(f"<td>{escape(c)}</td>" for c in _cells(f)) + "</tr>"
        for f in findings
    )
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>\n'
        "<style>body{font:15px sans-serif;margin:2em}td,th{padding:.3em .8em;text-align:left;"
        "vertical-align:top;border-bottom:1px solid #ddd}"
        ".refuse{background:#fdd}.warn{background:#ffd}"
        f"</style>\n<h1>{escape(title)}</h1>\n<table><tr>{head}</tr>\n{rows}\n</table></html>\n"
    )


def _cells(finding: Finding) -> tuple[str, ...]:
    """One line each: a cell never breaks the table."""
    values = (str(getattr(finding, heading)) for heading in _HEADINGS)
    return tuple(" ".join(value.split()) for value in values)
