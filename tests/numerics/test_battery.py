"""The battery goes on whatever becomes of one check."""

from collections.abc import Iterable

from kernels.operator import Tolerance
from stages.numerics.battery import examine
from stages.numerics.probe import Probe
from stages.numerics.promise import Promise
from stages.numerics.trial import Answer, Check, Seen, Target


class Untellable:
    """An argument that cannot be written as Python."""

    def __repr__(self) -> str:
        """Broken, as that of a foreign class may be."""
        raise StopIteration


def probes_of_one(target: Target) -> Iterable[Probe]:
    """A single call."""
    return [Probe((1,))]


def asked(check: Check) -> dict[str, Answer]:
    """What the battery says of this check, and of one that follows."""
    promise = Promise(lambda x: x, (), lambda probe: Tolerance(0.0, 0.0, "for the test"))
    target = Target(lambda x: x, promise, "operator")
    following = Check("following", "is put", probes_of_one, lambda target, probe: Seen())
    return {answer.check: answer for answer in examine(target, [check, following])}


def test_check_that_breaks_is_told_and_the_next_one_is_put() -> None:
    """It accuses nobody, and it has not passed."""

    def broken(target: Target) -> str | None:
        raise ZeroDivisionError("planted")

    answers = asked(Check("broken", "is put", probes_of_one, lambda target, probe: Seen(), broken))
    assert "says nothing about the operator: ZeroDivisionError" in str(answers["broken"].fault)
    assert answers["following"].has_passed
    assert answers["following"].num_trials == 1


def test_fault_stands_whose_call_cannot_be_told() -> None:
    """The words of the fault are kept, the missing call is explained."""

    def untellable(target: Target) -> Iterable[Probe]:
        return [Probe((Untellable(),))]

    check = Check("faulty", "is right", untellable, lambda target, probe: Seen("wrong"))
    answers = asked(check)
    assert str(answers["faulty"].fault).startswith("wrong")
    assert answers["faulty"].counter_example is None
    assert "could not be told: StopIteration" in " ".join(answers["faulty"].notes)
    assert answers["following"].has_passed
