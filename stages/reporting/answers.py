"""The guide's questions, its cost talk included, answered from evidence."""

from stages.contract import Answer, Figure, Rung, known, unknown
from stages.reporting.evidence import Evidence
from stages.reporting.guide_table import example
from stages.reporting.wording import number, say, say_percent


def answer_questions(evidence: Evidence) -> tuple[Answer, ...]:
    """Every question of the guide, in its order; cost talk last."""
    return (
        _compute_or_communication(evidence),
        _compatibility(evidence),
        _synchronisation(evidence),
        _open_source(evidence),
        _days_for_gain(evidence),
        _survives_upgrades(evidence),
        _where_gain_ends(evidence),
    )


def communication_share(evidence: Evidence) -> Figure:
    """Exposed communication over compute and exposed communication."""
    scaling = evidence.scaling
    if scaling is None:
        return unknown("distribution was not probed")
    exposed, compute = scaling.exposed_communication_ms.value, scaling.compute_ms.value
    if exposed is None or compute is None:
        return unknown(
            scaling.exposed_communication_ms.reason or scaling.compute_ms.reason or "not measured"
        )
    return known(exposed / (exposed + compute))


def _compute_or_communication(evidence: Evidence) -> Answer:
    scaling, share = evidence.scaling, communication_share(evidence)
    if scaling is None:
        answer = "Compute: the job runs on one worker, which has nobody to talk to."
        figures = (
            f"probe_budget: step {say(evidence.budget.step_time_ms, 'ms')}"
            if evidence.budget
            else "probe_budget: not taken"
        )
    elif share.value is None:
        answer, figures = f"Unknown: {share.reason}.", "probe_scaling"
    else:
        answer = "Communication." if share.value > 0.5 else "Compute."
        figures = (
            f"probe_scaling: compute {say(scaling.compute_ms, 'ms')}, exposed communication "
            f"{say(scaling.exposed_communication_ms, 'ms')}"
        )
    return _answer("Is the bottleneck compute or communication?", answer, figures)


def _compatibility(evidence: Evidence) -> Answer:
    build = evidence.build
    question = "Can the compatibility risk be avoided, must our part be rewritten on an upgrade?"
    if build is None:
        answer = "No risk of our own: standard operators and libraries alone are used."
        return _answer(question, answer, "build_operator: not taken")
    if build.error is not None:
        first = build.error.splitlines()[0]
        return _answer(question, "Unknown: the build failed.", f"build_operator: {first}")
    if build.form == "python":
        answer = "The operator is Python: nothing to compile; its torch calls are the only risk."
        return _answer(question, answer, "build_operator: form python")
    if build.undefined_symbols:
        answer = "No: the binary is tied to this torch release and must be rebuilt on an upgrade."
    else:
        answer = "Yes: built on the stable ABI, the same binary loads in later torch releases."
    figures = f"build_operator: {len(build.undefined_symbols)} undefined at:: or c10:: symbols"
    return _answer(question, answer, figures)


def _synchronisation(evidence: Evidence) -> Answer:
    scaling = evidence.scaling
    question = "Which part waits in synchronisation, and what share is communication?"
    if scaling is None:
        answer = "None: nothing is distributed."
        return _answer(question, answer, "probe_scaling: not taken")
    answer = (
        f"The fast worker waits {say(scaling.skew_ms, 'ms')} a step for the slow one; "
        f"communication is {say_percent(communication_share(evidence))} of a step."
    )
    figures = f"probe_scaling: exposed {say(scaling.exposed_communication_ms, 'ms')}"
    return _answer(question, answer, figures)


def _open_source(evidence: Evidence) -> Answer:
    libraries = [c for c in evidence.support.candidates if c.rung is Rung.library]
    usable = [candidate for candidate in libraries if candidate.qualifies]
    if evidence.implementation.rung is Rung.library:
        answer = f"Yes, {evidence.implementation.name} is used."
    elif usable:
        answer = f"{', '.join(c.name for c in usable)} would do; something else was chosen."
    elif libraries:
        reasons = "; ".join(f"{c.name}: {c.disqualified_because}" for c in libraries)
        answer = f"None that may serve here: {reasons}."
    else:
        answer = "None is known for this operator."
    times = ", ".join(f"{c.name} {say(c.time_ms, 'ms', with_interval=False)}" for c in libraries)
    question = "Is there an open-source alternative that saves the work?"
    return _answer(question, answer, f"check_support: {times or 'no library tried'}")


def _days_for_gain(evidence: Evidence) -> Answer:
    economics = evidence.support.economics
    gain = evidence.embed.realised_gain if evidence.embed else evidence.support.forecast_gain
    how = "measured" if evidence.embed else "forecast"
    answer = f"{economics.sentence} The gain is {say(gain, '×')} ({how})."
    cost, benefit = (
        say(economics.cost, economics.currency),
        say(economics.benefit, economics.currency),
    )
    figures = (
        f"check_support: cost {cost}, benefit {benefit} over {economics.horizon_months} months"
    )
    question = "How many person-days for this gain, and is it worth them? 成本估算"
    return _answer(question, answer, example(figures, evidence))


def _survives_upgrades(evidence: Evidence) -> Answer:
    torch = evidence.environment.versions.get("torch", "of unknown version")
    if evidence.is_custom:
        answer = "It is measured again on every torch minor release: see when this is reopened."
    else:
        answer = "Nothing of our own has to survive: no custom operator is in the product."
    question = "Does it survive framework upgrades?"
    return _answer(question, answer, f"environment: torch {torch}")


def _where_gain_ends(evidence: Evidence) -> Answer:
    support, economics = evidence.support, evidence.support.economics
    limit = "unknown" if support.ceiling.value is None else f"{number(support.ceiling.value)}×"
    days = say(economics.break_even_days, "person-days")
    worth = say(economics.break_even_value_per_month, f"{economics.currency} a month")
    answer = f"Most that the build may take: {days}. Least worth of meeting the target: {worth}."
    question = "Where does the performance gain end and the maintenance cost begin?"
    figures = f"check_support: no kernel can gain more than {limit} end to end"
    return _answer(question, example(answer, evidence), figures)


def _answer(question: str, answer: str, evidence: str) -> Answer:
    return Answer(question=question, answer=answer, evidence=evidence, is_settled=None)
