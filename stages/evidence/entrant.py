"""An implementation that enters the race, with what is known of it before it is timed."""

from dataclasses import dataclass

from stages.contract import Rung
from stages.measuring.attempts import Attempt
from stages.numerics.standing import Standing


@dataclass(frozen=True)
class Entrant:
    """One implementation, examined and called once at the real size."""

    name: str
    rung: Rung
    standing: Standing
    attempt: Attempt
    note: str | None

    @property
    def key(self) -> str:
        """Its name among the timings."""
        return key_of(self.rung, self.name)


def key_of(rung: Rung, name: str) -> str:
    """The key of an implementation: a composition enters plain and compiled under one name."""
    return f"{rung}:{name}"


def not_called(reason: str | None) -> Attempt:
    """The attempt of an implementation that cannot be called."""
    return Attempt(None, (), 0.0, reason)
