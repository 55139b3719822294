"""The decision record: one result made of all the others."""

from datetime import date, timedelta

from stages.contract import (
    NODES,
    DecisionResult,
    Figure,
    ModelVerdict,
    Stage,
    StageSummary,
    unknown,
)
from stages.reporting.answers import answer_questions
from stages.reporting.checklist import tick_checklist
from stages.reporting.evidence import Evidence, Terms
from stages.reporting.forecasts import compare_forecasts
from stages.reporting.guide_graph import letters
from stages.reporting.guide_table import fill_table
from stages.reporting.headline import write_headline
from stages.reporting.pitfalls import answer_pitfalls

VALID_DAYS = 90
"""Days after which the evidence counts as old."""


def decide(evidence: Evidence, terms: Terms, today: date) -> DecisionResult:
    """Put the record together; every figure comes from a result."""
    model = evidence.model
    headline = write_headline(evidence)
    return DecisionResult(
        stage=Stage.record_decision,
        reason=headline,
        headline=headline,
        operator=evidence.support.operator,
        path=tuple(
            [stage for stage, result in evidence.by_stage.items() if result is not None]
            + [Stage.record_decision]
        ),
        nodes=letters(evidence),
        stages=_summarise(evidence),
        table=fill_table(evidence, terms),
        checklist=tick_checklist(evidence),
        questions=answer_questions(evidence),
        pitfalls=answer_pitfalls(evidence),
        forecasts=compare_forecasts(evidence),
        figures=headline_figures(evidence, terms),
        economics_are_examples=terms.economics_are_examples,
        data_digest=evidence.ingest.data_digest,
        expires_on=(today + timedelta(days=VALID_DAYS)).isoformat(),
        reopen_when=_triggers(evidence),
        has_model=model is not None,
        all_targets_met=model is not None and model.verdict is ModelVerdict.met,
    )


def headline_figures(evidence: Evidence, terms: Terms) -> dict[str, Figure]:
    """The same seven names in every run, known or with the reason why not."""
    model, training, embed = evidence.model, evidence.training, evidence.embed
    no_model, no_training = unknown("no model was produced"), unknown("nothing was trained")
    accuracy = model.accuracy.get(terms.accuracy_metric) if model else no_model
    if training is None:
        efficiency = no_training
    elif training.num_workers == 1:
        efficiency = unknown("trained on one worker")
    else:
        efficiency = training.efficiency
    return {
        "accuracy": accuracy or unknown(f"the workload gives no {terms.accuracy_metric}"),
        "latency_p95_ms": model.latency_p95_ms if model else no_model,
        "step_time_ms": training.step_time_ms if training else no_training,
        "peak_memory_bytes": training.peak_memory_bytes if training else no_training,
        "end_to_end_gain": embed.realised_gain
        if embed and evidence.is_custom
        else unknown("no custom operator is in the product"),
        "scaling_efficiency": efficiency,
        "compute_cost": training.compute_cost if training else no_training,
    }


def _summarise(evidence: Evidence) -> tuple[StageSummary, ...]:
    summaries = []
    for stage, result in evidence.by_stage.items():
        verdict = getattr(result, "verdict", None)
        if stage is Stage.validate_data:
            verdict = "accepted" if evidence.validation.is_accepted else "refused"
        summaries.append(
            StageSummary(
                stage=stage,
                node=NODES[stage],
                was_taken=result is not None,
                verdict=None if result is None or verdict is None else str(verdict),
                reason="no upstream result names it" if result is None else result.reason,
            )
        )
    return tuple(summaries)


def _triggers(evidence: Evidence) -> tuple[str, ...]:
    environment = evidence.environment
    torch = environment.versions.get("torch", "")
    minor = ".".join(torch.split(".")[:2]) or "of unknown version"
    device = ", ".join(environment.gpus) or environment.cpu_model
    return (
        f"torch leaves {minor} (minor release)",
        f"the device is no longer {device}",
        f"the data's digest is no longer {evidence.ingest.data_digest[:16]}",
        "a threshold, price or other parameter in params.yaml changes",
        f"the operator {evidence.support.operator} or the workload's code changes",
        f"{VALID_DAYS} days have passed",
    )
