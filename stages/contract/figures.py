"""A measured or forecast figure: its value with an interval, or the reason why it is unknown."""

from typing import Self

from pydantic import model_validator

from stages.contract.frozen import Frozen


class Figure(Frozen):
    """One figure. Unknown is None with a reason, never 0."""

    value: float | None
    low: float | None = None
    """Lower end of the 95 % interval, where there is one."""
    high: float | None = None
    num_samples: int | None = None
    reason: str | None = None
    """Why the value is unknown; None when it is known."""

    @model_validator(mode="after")
    def _is_known_or_says_why(self) -> Self:
        if (self.value is None) == (self.reason is None):
            raise ValueError(
                f"a figure holds either a value or the reason why there is none, "
                f"got value {self.value} and reason {self.reason!r}"
            )
        return self

    @property
    def is_known(self) -> bool:
        """Whether there is a value."""
        return self.value is not None

    def times(self, factor: float) -> Self:
        """The figure and its interval, multiplied by a constant of zero or more."""
        return self.model_copy(
            update={
                name: None if end is None else end * factor
                for name, end in (("value", self.value), ("low", self.low), ("high", self.high))
            }
        )


def known(
    value: float,
    low: float | None = None,
    high: float | None = None,
    num_samples: int | None = None,
) -> Figure:
    """A figure that was measured or computed."""
    return Figure(value=value, low=low, high=high, num_samples=num_samples)


def unknown(reason: str) -> Figure:
    """A figure that could not be had, and why."""
    return Figure(value=None, reason=reason)
