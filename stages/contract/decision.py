"""The decision record: what was decided, on what evidence, until when."""

from stages.contract.figures import Figure
from stages.contract.frozen import Frozen
from stages.contract.graph import Stage
from stages.contract.results import Result


class StageSummary(Frozen):
    """One stage as the record tells it."""

    stage: Stage
    node: str
    was_taken: bool
    verdict: str | None
    reason: str


class Answer(Frozen):
    """One question, checklist item or pitfall of the guide, answered from evidence."""

    question: str
    answer: str
    evidence: str
    """The figure and the stage it comes from."""
    is_settled: bool | None
    """For checklist items: done or not; None where it did not apply."""


class TableRow(Frozen):
    """One row of the guide's decision table."""

    dimension: str
    standard: str
    custom: str
    distributed: str


class Forecast(Frozen):
    """A forecast set against what then happened."""

    name: str
    forecast: Figure
    realised: Figure
    error: Figure


class DecisionResult(Result):
    """The record, also written as `decision.json`, `.html` and `.md`."""

    headline: str
    """First line: the verdict in one sentence."""
    operator: str
    path: tuple[Stage, ...]
    """Stages that were taken, in order."""
    nodes: str
    """The taken path in the guide's letters, such as "A → B → D → E → G → I"."""
    stages: tuple[StageSummary, ...]
    table: tuple[TableRow, ...]
    checklist: tuple[Answer, ...]
    questions: tuple[Answer, ...]
    pitfalls: tuple[Answer, ...]
    forecasts: tuple[Forecast, ...]
    figures: dict[str, Figure]
    """Headline figures, the same names in every run: accuracy, latency_p95_ms, step_time_ms,
    peak_memory_bytes, end_to_end_gain, scaling_efficiency, compute_cost."""
    economics_are_examples: bool
    data_digest: str
    expires_on: str
    """ISO date after which the evidence counts as old."""
    reopen_when: tuple[str, ...]
    has_model: bool
    all_targets_met: bool
