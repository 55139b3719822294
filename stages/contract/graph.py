"""The decision graph as data: its stages, its nodes, and which stage may name which as the next.

Routing is data. A stage is taken if and only if some upstream result names it in `next`; the first
stages, up to `check_support`, are always taken.
"""

from collections.abc import Mapping
from enum import StrEnum


class Stage(StrEnum):
    """One name for the file, the DVC stage, the Prefect task and the MLflow run; in graph order."""

    environment = "environment"
    ingest_data = "ingest_data"
    validate_data = "validate_data"
    check_support = "check_support"
    pilot_accuracy = "pilot_accuracy"
    build_operator = "build_operator"
    validate_numerics = "validate_numerics"
    embed_operator = "embed_operator"
    probe_budget = "probe_budget"
    probe_scaling = "probe_scaling"
    train_single = "train_single"
    train_distributed = "train_distributed"
    produce_model = "produce_model"
    record_decision = "record_decision"


NODES: Mapping[Stage, str] = {
    Stage.environment: "–",
    Stage.ingest_data: "A",
    Stage.validate_data: "A",
    Stage.check_support: "B",
    Stage.pilot_accuracy: "B",
    Stage.build_operator: "D",
    Stage.validate_numerics: "D",
    Stage.embed_operator: "E",
    Stage.probe_budget: "G",
    Stage.probe_scaling: "G",
    Stage.train_single: "F",
    Stage.train_distributed: "H",
    Stage.produce_model: "I",
    Stage.record_decision: "–",
}

ALWAYS_TAKEN = (
    Stage.environment,
    Stage.ingest_data,
    Stage.validate_data,
    Stage.check_support,
    Stage.record_decision,
)

ROUTES: Mapping[Stage, tuple[Stage, ...]] = {
    # B: enough -> C, which goes on to the budget; accuracy claimed -> P; not enough -> D
    Stage.check_support: (Stage.probe_budget, Stage.pilot_accuracy, Stage.build_operator),
    # P: no lift -> C; lift and a kernel is worth it -> D
    Stage.pilot_accuracy: (Stage.probe_budget, Stage.build_operator),
    # D: failed or refused -> C
    Stage.build_operator: (Stage.validate_numerics, Stage.probe_budget),
    Stage.validate_numerics: (Stage.embed_operator, Stage.probe_budget),
    # E: embedded, or refused -> C; both go on to the budget
    Stage.embed_operator: (Stage.probe_budget,),
    # G: within -> one machine; over -> is distribution worth it?
    Stage.probe_budget: (Stage.train_single, Stage.probe_scaling),
    Stage.probe_scaling: (Stage.train_distributed, Stage.train_single, Stage.record_decision),
    # F, H -> I -> record
    Stage.train_single: (Stage.produce_model,),
    Stage.train_distributed: (Stage.produce_model,),
    Stage.produce_model: (Stage.record_decision,),
}
"""For each deciding stage, the stages that its result may name as `next`."""


def named_by(stage: Stage) -> tuple[Stage, ...]:
    """The stages whose results may name this one, in graph order."""
    return tuple(source for source in Stage if stage in ROUTES.get(source, ()))
