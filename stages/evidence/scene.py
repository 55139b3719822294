"""The real job, with whatever stands in for the operator."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from stages.contract import (
    Case,
    DataShape,
    IngestResult,
    Operators,
    Settings,
    Workload,
    derive_data_shape,
)
from stages.imaging.full_case import load_full_case
from stages.imaging.reading import read_case
from stages.measuring.capture import Call, capture
from stages.measuring.inference_graph import InferenceScene, typical_index
from stages.measuring.substitution import stand_in
from stages.numerics.exporting import export_and_reload
from stages.rules.support import Context
from stages.training.rehearsal import rehearse

Run = Callable[[], object]
Prepare = Callable[[Operators], Run]
"""From handles to one run of the job: one inference or one training step."""


@dataclass(frozen=True)
class Scene:
    """The job in one context, ready to be run with any handles."""

    context: Context
    needs_export: bool
    """Whether the deployment runs it as an exported graph."""
    prepare: Prepare
    """Run by Python."""
    prepare_exported: Prepare | None
    """With the whole graph exported, saved and loaded; None for a training step."""

    def record(self, name: str, implementation: Callable[..., Any]) -> tuple[Call, ...]:
        """The operator's calls in one run, answered by a right implementation.

        Raises:
            InputError: the workload never calls the operator in this context.
        """
        return capture(
            name, implementation, lambda operators: self.prepare(operators)(), self.context
        )

    def prepare_rest(self, name: str, calls: Sequence[Call]) -> Run:
        """The job as deployed, with a stand-in for the operator that costs nothing."""
        exported = self.prepare_exported if self.needs_export else None
        return (exported or self.prepare)({name: stand_in(calls)})


def context_of(claim: Literal["latency", "accuracy"]) -> Context:
    """Where the operator is judged: latency on a deployed case, accuracy by what training costs."""
    return "inference_graph" if claim == "latency" else "training_step"


def needs_export(context: Context, settings: Settings) -> bool:
    """Whether what runs in this context is deployed as an exported graph."""
    return context == "inference_graph" and settings.product.deployment == "exported_graph"


def make_scene(
    context: Context,
    ingest: IngestResult,
    workload: Workload,
    cases: Sequence[Case],
    settings: Settings,
) -> Scene:
    """The report graph on one typical case, or a training step on the job's first batch.

    Raises:
        InputError: there are no cases for it, or their files cannot be read.
    """
    make = _make_inference if context == "inference_graph" else _make_training
    return make(ingest, workload, derive_data_shape(ingest, settings), cases, settings)


def _make_inference(
    ingest: IngestResult,
    workload: Workload,
    shape: DataShape,
    cases: Sequence[Case],
    settings: Settings,
) -> Scene:
    image, label = load_full_case(ingest, cases, shape, typical_index(cases))
    graph = InferenceScene(
        workload,
        shape,
        image,
        label,
        seed=settings.training.seed,
        device=settings.infrastructure.device,
    )
    return Scene(
        context="inference_graph",
        needs_export=needs_export("inference_graph", settings),
        prepare=graph.prepare,
        prepare_exported=partial(graph.deploy, deploy=export_and_reload),
    )


def _make_training(
    ingest: IngestResult,
    workload: Workload,
    shape: DataShape,
    cases: Sequence[Case],
    settings: Settings,
) -> Scene:
    prepare = rehearse(
        workload,
        cases,
        partial(read_case, label_map=ingest.label_map),
        shape,
        batch_size=settings.training.batch_size,
        seed=settings.training.seed,
        device=settings.infrastructure.device,
    )
    return Scene("training_step", needs_export=False, prepare=prepare, prepare_exported=None)
