"""E: is the operator in the graph without breaks, and is the promised gain real end to end?"""

from stages.contract import (
    EmbedResult,
    EmbedVerdict,
    Figure,
    Implementation,
    IngestResult,
    PilotResult,
    Rung,
    Settings,
    Stage,
    SupportResult,
    execute,
    known,
    load_workload,
    open_chosen,
    read,
    read_if_taken,
    read_manifest,
    unknown,
)


def embed_operator(settings: Settings) -> EmbedResult:
    """Put the operator into the report graph or the training step, and measure with and without.

    Embedded only if the interval of the gain lies above 1 and the graph exports where it must; an
    operator that fails here is an answer: the path goes on with the best standard form.
    """
    from stages.evidence.embedding import find_refusals, say_why
    from stages.evidence.scene import make_scene, needs_export
    from stages.evidence.trial import Trial, try_inside

    operator = open_chosen(settings.algorithm.operator)
    support = read(Stage.check_support, SupportResult)
    pilot = read_if_taken(Stage.pilot_accuracy, PilotResult)
    standard = (pilot or support).implementation
    custom = Implementation(rung=Rung.custom, name=operator.spec.name)
    try:
        ingest = read(Stage.ingest_data, IngestResult)
        workload = load_workload(settings.training)
        scene = make_scene(support.context, ingest, workload, read_manifest(), settings)
        trial = try_inside(scene, operator, custom, standard, settings)
    except Exception as error:  # an operator that breaks the job is refused, not the run
        trial = Trial.failed(error)
    refusals = find_refusals(trial, needs_export(support.context, settings))
    forecast = support.forecast_gain
    return EmbedResult(
        stage=Stage.embed_operator,
        next=Stage.probe_budget,
        reason=say_why(operator.spec.name, trial, forecast, refusals, standard),
        verdict=EmbedVerdict.rejected if refusals else EmbedVerdict.embedded,
        compiles_fullgraph=trial.compiles_fullgraph,
        is_exportable=trial.is_exportable,
        baseline_ms=trial.baseline_ms,
        embedded_ms=trial.embedded_ms,
        operator_ms=trial.operator_ms,
        realised_gain=trial.gain,
        forecast_gain=forecast,
        forecast_error=_error_of(forecast, trial.gain),
        report_difference=trial.difference,
        findings=(*trial.findings, *refusals),
        implementation=standard if refusals else custom,
    )


def _error_of(forecast: Figure, realised: Figure) -> Figure:
    """(forecast - realised) / realised."""
    if forecast.value is None or realised.value is None:
        return unknown("needs a forecast and a realised gain")
    return known((forecast.value - realised.value) / realised.value)


def main() -> None:
    """Run as `python -m stages.embed_operator`."""
    execute(Stage.embed_operator, embed_operator)


if __name__ == "__main__":
    main()
