"""P: does the special logic lift accuracy, and where does the path go on?"""

from stages.contract import Figure, Implementation, PilotVerdict, Rung, Stage

SMALLEST_MEANINGFUL_LIFT = 0.01
"""One point of a metric that runs from 0 to 1: less than that is not worth an operator's upkeep."""
CHEAPER = Stage.probe_budget
"""Where the path goes without a kernel."""


def judge_lift(lift: Figure) -> PilotVerdict:
    """The verdict on a paired lift with its 95 % interval.

    Lifts only if the whole interval lies above 0; no lift if it ends below 0, or below the smallest
    lift that matters; all else, a lift without interval included, cannot be told yet."""
    if lift.low is None or lift.high is None:
        return PilotVerdict.inconclusive
    if lift.low > 0:
        return PilotVerdict.lifts
    if lift.high < SMALLEST_MEANINGFUL_LIFT:
        return PilotVerdict.no_lift
    return PilotVerdict.inconclusive


def propose_next(verdict: PilotVerdict, worth_building: bool) -> Stage:
    """A kernel only where the logic lifts accuracy and a kernel would be worth its cost."""
    if verdict is PilotVerdict.lifts and worth_building:
        return Stage.build_operator
    return CHEAPER


def carry_on_with(
    verdict: PilotVerdict, following: Stage, standard: Implementation
) -> Implementation:
    """The implementation after the pilot.

    Logic that lifts stays, in its standard form until a kernel replaces it; so does logic that a
    person sends on to be built. All other logic is left out."""
    if verdict is PilotVerdict.lifts or following is Stage.build_operator:
        return standard
    return Implementation(rung=Rung.none, name="none")


def tell_pilot(metric: str, lift: Figure, verdict: PilotVerdict, worth_building: bool) -> str:
    """The figure that decided, and what it means."""
    if lift.value is None:
        return f"Cannot tell: the lift in {metric} is unknown ({lift.reason})."
    interval = (
        "no interval" if lift.low is None else f"95 % interval {lift.low:+.3f} to {lift.high:+.3f}"
    )
    figure = f"{metric} {lift.value:+.3f} with the logic ({interval})"
    if verdict is PilotVerdict.lifts:
        kernel = (
            "and a kernel is worth its cost" if worth_building else "its standard form is enough"
        )
        return f"Lifts accuracy, {kernel}: {figure}."
    if verdict is PilotVerdict.no_lift:
        return f"No lift of {SMALLEST_MEANINGFUL_LIFT} or more: {figure}."
    return f"Cannot tell at this scale: {figure}."
