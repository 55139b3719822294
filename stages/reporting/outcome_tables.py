"""What came out: against the targets, the budget, the forecasts, and on more workers."""

from stages.contract import DecisionResult
from stages.reporting.evidence import Evidence
from stages.reporting.guide_table import example
from stages.reporting.table import Table
from stages.reporting.wording import number, say, say_bytes, say_percent


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
