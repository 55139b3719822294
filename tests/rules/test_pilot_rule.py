"""The pilot's rule, on figures whose right answer is known."""

import pytest

from stages.contract import Figure, Implementation, PilotVerdict, Rung, Stage, known, unknown
from stages.rules.pilot import carry_on_with, judge_lift, propose_next, tell_pilot

STANDARD = Implementation(rung=Rung.standard, name="lesion_voxels")


@pytest.mark.parametrize(
    ("lift", "verdict"),
    [
        (known(0.05, 0.02, 0.08), "lifts"),
        (known(0.004, 0.001, 0.007), "lifts"),
        (known(-0.05, -0.08, -0.02), "no_lift"),
        (known(0.001, -0.004, 0.006), "no_lift"),
        (known(0.03, -0.01, 0.07), "inconclusive"),
        (known(0.03), "inconclusive"),
        (unknown("undefined on all of 3 cases"), "inconclusive"),
    ],
)
def test_the_interval_decides(lift: Figure, verdict: str) -> None:
    """Above 0 lifts; below 0 or below the smallest lift that matters does not; all else is open."""
    assert judge_lift(lift) == verdict
    assert tell_pilot("dice", lift, judge_lift(lift), True)


@pytest.mark.parametrize("worth_building", [True, False])
@pytest.mark.parametrize("verdict", PilotVerdict)
def test_a_kernel_needs_a_lift_and_its_worth(verdict: PilotVerdict, worth_building: bool) -> None:
    """Everything else goes the cheaper way; logic that does not lift is left out."""
    following = propose_next(verdict, worth_building)
    builds = verdict is PilotVerdict.lifts and worth_building
    assert following is (Stage.build_operator if builds else Stage.probe_budget)
    expected = Rung.standard if verdict is PilotVerdict.lifts else Rung.none
    assert carry_on_with(verdict, following, STANDARD).rung is expected


def test_a_person_may_send_an_open_question_on() -> None:
    """The logic is then kept, so that there is something to build."""
    kept = carry_on_with(PilotVerdict.inconclusive, Stage.build_operator, STANDARD)
    assert kept == STANDARD
