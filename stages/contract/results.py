"""What every stage's result has in common, and the verdicts."""

from enum import StrEnum
from typing import Literal, Self

from pydantic import model_validator

from stages.contract.frozen import Frozen
from stages.contract.graph import ROUTES, Stage


class Result(Frozen):
    """A stage's result, kept as `reports/<stage>/result.json`."""

    stage: Stage
    status: Literal["done", "not_taken"] = "done"
    next: Stage | None = None
    """The stage that follows; None for a stage that decides nothing."""
    reason: str
    """One sentence for a person: why this result, with the figure that decided."""

    @model_validator(mode="after")
    def _names_a_stage_of_its_routes(self) -> Self:
        routes = ROUTES.get(self.stage, ())
        if self.status == "not_taken":
            if self.next is not None:
                raise ValueError(f"{self.stage} was not taken and must not name {self.next}")
        elif routes and self.next not in routes:
            raise ValueError(f"{self.stage} must name one of {', '.join(routes)}, got {self.next}")
        elif not routes and self.next is not None:
            raise ValueError(f"{self.stage} decides nothing and must not name {self.next}")
        return self


class NotTaken(Result):
    """The stage was passed by."""

    status: Literal["done", "not_taken"] = "not_taken"


class Rung(StrEnum):
    """The ladder of evidence, cheapest first."""

    none = "none"
    """The job is done without the operator's logic."""
    standard = "standard"
    compiled = "compiled"
    library = "library"
    custom = "custom"


class Implementation(Frozen):
    """Which implementation of the operator the path carries on with."""

    rung: Rung
    name: str
    """Name of the composition or library; the operator's own name on the custom rung."""


class SupportVerdict(StrEnum):
    """B: are standard operators enough?"""

    standard = "standard"
    compiled = "compiled"
    library = "library"
    build = "build"
    be_careful = "be_careful"
    not_worth_it = "not_worth_it"
    inconclusive = "inconclusive"


class PilotVerdict(StrEnum):
    """B: does the special logic lift accuracy?"""

    lifts = "lifts"
    no_lift = "no_lift"
    inconclusive = "inconclusive"


class BuildVerdict(StrEnum):
    """D: does it compile here?"""

    built = "built"
    failed = "failed"


class BuildStatus(StrEnum):
    """What came of compiling for one kind of device."""

    built = "built"
    failed = "failed"
    not_tried = "not_tried"


class NumericsVerdict(StrEnum):
    """D: is it right?"""

    accepted = "accepted"
    rejected = "rejected"


class EmbedVerdict(StrEnum):
    """E: is it in the graph, and is the gain real?"""

    embedded = "embedded"
    rejected = "rejected"


class BudgetVerdict(StrEnum):
    """G: memory and time of the job against the budget."""

    within = "within"
    within_with_remedy = "within_with_remedy"
    over = "over"
    unknown = "unknown"


class ScalingVerdict(StrEnum):
    """G: does distribution pay?"""

    distribute = "distribute"
    refuse = "refuse"
    inconclusive = "inconclusive"
    impossible = "impossible"


class ModelVerdict(StrEnum):
    """I: does the model meet its targets?"""

    met = "met"
    missed = "missed"
