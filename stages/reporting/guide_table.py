"""The guide's decision table, filled with what was measured."""

from stages.contract import ScalingPoint, TableRow
from stages.reporting.evidence import Evidence, Terms
from stages.reporting.wording import number, say, say_bytes, say_percent


def fill_table(evidence: Evidence, terms: Terms) -> tuple[TableRow, ...]:
    """The guide's five rows: its own words first, then this case's figures."""
    return (
        _fits_when(evidence),
        _development_cost(evidence),
        _maintenance(evidence),
        _performance(evidence),
        _advice(evidence, terms),
    )


def example(text: str, evidence: Evidence) -> str:
    """Mark a sum of money that rests on the repository's example prices."""
    return f"{text} [example prices]" if evidence.support.economics.are_examples else text


def best_point(evidence: Evidence) -> ScalingPoint | None:
    """The fastest point with more than one worker; None when no speed-up is known."""
    points = evidence.scaling.points if evidence.scaling else ()
    several = [p for p in points if p.num_workers > 1 and p.speedup.value is not None]
    return max(several, key=lambda point: point.speedup.value or 0.0, default=None)


def say_point(point: ScalingPoint) -> str:
    """One point in words."""
    how = "measured" if point.is_measured else "forecast"
    return (
        f"{say(point.speedup, '×')} with {point.num_workers} workers on {_the(point.where)} ({how})"
    )


def _the(where: str) -> str:
    return where if where.startswith("this") else f"the {where}"


def _fits_when(evidence: Evidence) -> TableRow:
    support, budget = evidence.support, evidence.budget
    return TableRow(
        dimension="适用场景 Fits when",
        standard=(
            "General task, ordinary demands. Here: the best standard form takes "
            f"{say(support.baseline_ms, 'ms')} end to end, budget {say(support.target_ms, 'ms')}."
        ),
        custom=(
            "Special logic, clear bottleneck. Here: the operator is "
            f"{say_percent(support.share)} of the time; no kernel could gain more than "
            f"{say(support.ceiling, '×')}."
        ),
        distributed=(
            "Model too big, data huge. Here: "
            + (
                f"peak memory {say_bytes(budget.measured_memory_bytes)} of "
                f"{number(budget.memory_budget_bytes / 2**30)} GiB; job "
                f"{say(budget.job_hours, 'h')} of {number(budget.budget_hours)} h."
                if budget
                else "unknown: the budget was not probed."
            )
        ),
    )


def _development_cost(evidence: Evidence) -> TableRow:
    economics = evidence.support.economics
    cost = say(economics.cost, economics.currency)
    days = say(economics.break_even_days, "person-days")
    return TableRow(
        dimension="研发成本 Development cost",
        standard="Low. Here: nothing was built for it.",
        custom=(
            f"High, needs experts. Here: {example(cost, evidence)} over "
            f"{economics.horizon_months} months; it may take at most {example(days, evidence)}."
        ),
        distributed="Medium, needs a cluster. Here: "
        + (evidence.scaling.reason if evidence.scaling else "not needed, one machine is enough."),
    )


def _maintenance(evidence: Evidence) -> TableRow:
    torch = evidence.environment.versions.get("torch", "unknown")
    build, scaling = evidence.build, evidence.scaling
    if build is None:
        risk = "unknown: none was built"
    elif build.form == "python":
        risk = "written in Python, no binary to rebuild"
    elif build.error is not None:
        risk = "unknown: the build failed"
    else:
        num_symbols = len(build.undefined_symbols)
        risk = (
            f"{num_symbols} undefined at:: or c10:: symbols, the binary is tied to torch {torch}"
            if num_symbols
            else "no undefined at:: or c10:: symbol, the binary loads in later torch releases"
        )
        for device in build.devices:
            risk += f"; {device.device} {device.status.replace('_', ' ')}"
    return TableRow(
        dimension="维护难度 Maintenance",
        standard=f"Low, community support 社区支持. Here: torch {torch}.",
        custom=f"High, version risk. Here: {risk}.",
        distributed="Medium, network stability. Here: "
        + (
            f"skew between workers {say(scaling.skew_ms, 'ms')} a step."
            if scaling
            else "no network is used."
        ),
    )


def _performance(evidence: Evidence) -> TableRow:
    support, embed, best = evidence.support, evidence.embed, best_point(evidence)
    if embed is not None:
        gain = f"{say(embed.realised_gain, '×')} end to end, measured"
    else:
        gain = f"{say(support.forecast_gain, '×')} end to end, forecast only"
    if best is not None:
        speedup = say_point(best)
    elif evidence.scaling is not None:
        speedup = f"unknown: {evidence.scaling.forecast_efficiency.reason or 'no point is known'}"
    else:
        speedup = "not measured: the job is not over its budget"
    return TableRow(
        dimension="性能提升 Performance gain",
        standard=f"Baseline. Here: {say(support.baseline_ms, 'ms')}.",
        custom=f"30–50 % and more. Here: {gain}.",
        distributed=f"Depends on communication. Here: {speedup}.",
    )


def _advice(evidence: Evidence, terms: Terms) -> TableRow:
    chosen = evidence.implementation
    if evidence.is_custom:
        standard = "not enough here"
        custom = f"build and keep {terms.operator.rsplit('/', 1)[-1]}"
    else:
        standard = f"take it: {chosen.name}" if chosen.name else "take it"
        custom = "tried and refused" if evidence.was_refused else "do not build"
    verdict = evidence.scaling.verdict if evidence.scaling else "not needed"
    return TableRow(
        dimension="建议决策 Advice",
        standard=f"First choice. Here: {standard}.",
        custom=f"Only at a bottleneck. Here: {custom} ({_words(evidence.support.verdict)}).",
        distributed=f"Once scale demands it. Here: {_words(verdict)}.",
    )


def _words(verdict: str) -> str:
    return verdict.replace("_", " ")
