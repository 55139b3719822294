"""The guide's pitfalls, each held against this case."""

from stages.contract import Answer, NumericsVerdict, ScalingVerdict
from stages.reporting.answers import communication_share
from stages.reporting.evidence import Evidence
from stages.reporting.guide_table import best_point, say_point
from stages.reporting.wording import number, say, say_percent


def answer_pitfalls(evidence: Evidence) -> tuple[Answer, ...]:
    """Over-optimising, precision loss, communication blocking."""
    return (_over_optimising(evidence), _precision_loss(evidence), _blocking(evidence))


def _over_optimising(evidence: Evidence) -> Answer:
    scaling, budget = evidence.scaling, evidence.budget
    if scaling is None:
        answer = "Avoided: a job within its budget is not distributed."
        figures = f"probe_budget: {budget.reason}" if budget else "probe_budget: not taken"
    elif scaling.verdict is ScalingVerdict.distribute:
        answer = "Looked at: distribution brings the job within its budget."
        figures = f"probe_scaling: {scaling.reason}"
    else:
        answer = "Avoided: distribution was asked for and is not taken."
        figures = f"probe_scaling: {scaling.reason}"
    return _answer(
        "过度优化 Over-optimising: distributing small data costs more than it gains",
        answer,
        figures,
    )


def _precision_loss(evidence: Evidence) -> Answer:
    numerics = evidence.numerics
    if numerics is None:
        answer = "Did not apply: no custom operator reached the checks."
        chosen = [c for c in evidence.support.candidates if c.name == evidence.implementation.name]
        figures = (
            f"check_support: largest error of {chosen[0].name} {say(chosen[0].largest_error)}"
            if chosen
            else "validate_numerics: not taken"
        )
    else:
        failed = [check for check in numerics.checks if not check.passed]
        errors = [
            c.largest_error.value for c in numerics.checks if c.largest_error.value is not None
        ]
        is_accepted = numerics.verdict is NumericsVerdict.accepted
        answer = (
            "Avoided: values stay within their tolerances against the float64 reference."
            if is_accepted
            else "Met, and the operator refused: "
            + "; ".join(f"{check.name}: {check.detail}" for check in failed)
        )
        largest = number(max(errors)) if errors else "unknown: no check measured one"
        figures = f"validate_numerics: largest error over all cases {largest}"
    return _answer(
        "精度损失 Precision loss: another order of operations gives small differences",
        answer,
        figures,
    )


def _blocking(evidence: Evidence) -> Answer:
    scaling, best = evidence.scaling, best_point(evidence)
    if scaling is None:
        answer, figures = "Did not apply: one machine, no network.", "probe_scaling: not taken"
    elif best is None or best.speedup.value is None:
        answer = f"Unknown: {scaling.exposed_communication_ms.reason or 'no speed-up is known'}."
        figures = "probe_scaling"
    else:
        is_slower = best.speedup.value < 1
        answer = (
            "Met: more workers are slower than one." if is_slower else "Not met at this bandwidth."
        )
        figures = (
            f"probe_scaling: at best {say_point(best)}; communication is "
            f"{say_percent(communication_share(evidence))} of a measured step, at "
            f"{say(scaling.bandwidth_mbit_s, 'Mbit/s')} between workers here"
        )
    return _answer(
        "通信阻塞 Communication blocking: several machines slower than one", answer, figures
    )


def _answer(question: str, answer: str, evidence: str) -> Answer:
    return Answer(question=question, answer=answer, evidence=evidence, is_settled=None)
