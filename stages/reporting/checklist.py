"""The guide's checklist before a project starts, ticked from evidence."""

from stages.contract import Answer, NumericsVerdict, Rung
from stages.reporting.evidence import Evidence
from stages.reporting.wording import say

STANDARD_RUNGS = (Rung.standard, Rung.compiled)
LEAST_COMPOSITIONS = 2
"""Independent compositions that must have been tried before "not enough" may be said."""


def tick_checklist(evidence: Evidence) -> tuple[Answer, ...]:
    """The three items in the guide's order."""
    return (_standard_insufficient(evidence), _precision(evidence), _communication(evidence))


def _standard_insufficient(evidence: Evidence) -> Answer:
    support = evidence.support
    measured = [c for c in support.candidates if c.rung in STANDARD_RUNGS and c.time_ms.is_known]
    compositions = {c.name.removesuffix(" (compiled)") for c in measured}
    figures = (
        f"check_support: {len(measured)} standard forms of {len(compositions)} compositions timed; "
        f"best {say(support.baseline_ms, 'ms')} end to end, budget {say(support.target_ms, 'ms')}"
    )
    if evidence.build is None:
        verdict = support.verdict.replace("_", " ")
        answer, is_settled = f"Did not apply: no kernel is built (verdict: {verdict}).", None
    elif len(compositions) >= LEAST_COMPOSITIONS:
        answer, is_settled = "Yes: the best of them was measured and falls short.", True
    else:
        answer, is_settled = "No: fewer than two independent compositions could be measured.", False
    return Answer(
        question="1. Standard operators proven insufficient, by a performance report 性能报告",
        answer=answer,
        evidence=figures,
        is_settled=is_settled,
    )


def _precision(evidence: Evidence) -> Answer:
    numerics = evidence.numerics
    if numerics is None:
        why = "the build failed" if evidence.build is not None else "no operator was built"
        answer, figures, is_settled = f"Did not apply: {why}.", "validate_numerics: not taken", None
    else:
        passed = [check for check in numerics.checks if check.passed]
        is_settled = numerics.verdict is NumericsVerdict.accepted
        answer = "Yes." if is_settled else "Looked at, and refused."
        cases = sum(check.num_cases for check in numerics.checks)
        figures = (
            f"validate_numerics: {len(passed)} of {len(numerics.checks)} checks passed over "
            f"{cases} cases"
        )
    return Answer(
        question="2. Numerical precision of the operator verified at small scale 数值精度",
        answer=answer,
        evidence=figures,
        is_settled=is_settled,
    )


def _communication(evidence: Evidence) -> Answer:
    scaling = evidence.scaling
    measured = [p for p in scaling.points if p.is_measured and p.num_workers > 1] if scaling else []
    if scaling is None:
        answer, is_settled = "Did not apply: the job is not over its budget on one machine.", None
        figures = "probe_scaling: not taken"
    elif measured:
        answer, is_settled = "Yes, on one machine, before any other machine was asked for.", True
        figures = (
            f"probe_scaling: {measured[0].num_workers} workers reach "
            f"{say(measured[0].speedup, '×')} of one, exposed communication "
            f"{say(scaling.exposed_communication_ms, 'ms')} a step"
        )
    else:
        answer, is_settled = "No: nothing was run.", False
        figures = f"probe_scaling: {scaling.exposed_communication_ms.reason or scaling.reason}"
    return Answer(
        question="3. Communication efficiency tested on one machine before several 通信效率",
        answer=answer,
        evidence=figures,
        is_settled=is_settled,
    )
