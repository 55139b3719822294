"""The record as one HTML page: no network, no script, fit for print."""

from pathlib import Path

from stages.contract import DecisionResult, ErrorAtSize
from stages.reporting.error_plot import draw_errors
from stages.reporting.evidence import Evidence, Terms
from stages.reporting.page_tables import all_tables, key_figures
from stages.reporting.svg import draw_svg

TEMPLATE = Path(__file__).parent / "record.html.j2"


def write_page(decision: DecisionResult, evidence: Evidence, terms: Terms) -> str:
    """`decision.html`."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(TEMPLATE.parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(TEMPLATE.name).render(
        decision=decision,
        graph=Markup(draw_svg(evidence)),
        errors=Markup(draw_errors(_growth(evidence))),
        figures=key_figures(decision, evidence, terms),
        tables=all_tables(decision, evidence, terms),
        data=evidence.ingest,
    )


def _growth(evidence: Evidence) -> tuple[ErrorAtSize, ...]:
    if evidence.numerics is None:
        return ()
    return tuple(at for check in evidence.numerics.checks for at in check.growth)
