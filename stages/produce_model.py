"""I: pack the model as files, and measure the packed form against the targets."""

import json
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stages.contract import (
    Case,
    Figure,
    Implementation,
    IngestResult,
    InputError,
    ModelResult,
    Operators,
    Rung,
    Settings,
    SourceKind,
    Stage,
    TrainingResult,
    chosen_implementation,
    derive_data_shape,
    execute,
    folder,
    known,
    load_settings,
    load_workload,
    open_chosen,
    operators_for,
    read,
    read_if_taken,
    read_manifest,
    unknown,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kernels.folder import OperatorFolder
    from stages.reporting.serve import Package, Prediction

GIB = 2**30
MEASURE = "--measure"
CHILD_LIMIT_S = 1200.0
LATENCY_LIMIT_S = 60.0
REPEATS_FACTOR = 3
"""A 95th percentile needs more calls than a median."""


def produce_model(settings: Settings) -> ModelResult:
    """Export, pack, then take accuracy, latency and memory of what was packed.

    Raises:
        InputError: nothing was trained, or the workload's report graph cannot be exported.
    """
    from stages.imaging.full_case import load_full_case
    from stages.reporting.example import synthesise_like
    from stages.reporting.package import Contents, open_folder, write_example, write_package

    ingest = read(Stage.ingest_data, IngestResult)
    shape = derive_data_shape(ingest, settings)
    workload = load_workload(settings.training)
    operator = open_chosen(settings.algorithm.operator)
    cases = read_manifest()
    scored = _held_out(cases)
    image, _ = load_full_case(ingest, scored, shape)
    model = _load_trained(workload.make_model(shape))
    program, packed, note = _export(
        lambda operators: workload.make_report(model, operators, shape),
        operator,
        image[None],
        settings.infrastructure.device,
    )
    target = folder(Stage.produce_model)
    contents = Contents(
        shape=shape,
        implementation=packed,
        operator=operator if packed.rung is Rung.custom else None,
        report_columns=workload.report_columns,
        label_names=ingest.label_names,
        channel_names=ingest.channel_names,
        deployment=settings.product.deployment,
        device=settings.infrastructure.device,
        data_digest=ingest.data_digest,
    )
    files, content_hash = write_package(target, program, contents)
    package = open_folder(target, files)
    example = image if ingest.kind is SourceKind.phantom else synthesise_like(image)
    write_example(target, example[None], _predict_one(package, example))
    prediction = _predict_one(package, image)
    accuracy = _score(package, workload.score_case, ingest, settings, scored)
    median, p95, peak = _measure_in_child(files)
    return _judge(
        settings,
        files=files,
        content_hash=content_hash,
        input_shape=(1, *image.shape),
        accuracy=accuracy,
        latency_p95_ms=p95,
        latency_median_ms=median,
        peak_memory_bytes=peak,
        num_model_lesions=known(float(len(prediction["report"]))),
        note=note,
    )


def _held_out(cases: "Sequence[Case]") -> "Sequence[Case]":
    """The test cases, or where there are none the validation cases."""
    test = [case for case in cases if case.split == "test"]
    return test or [case for case in cases if case.split == "validation"]


def _predict_one(package: "Package", image: "NDArray[Any]") -> "Prediction":
    prediction = package.predict(image[None])
    assert isinstance(prediction, dict)
    return prediction


def _load_trained(model: Any) -> Any:
    """The weights of whichever training took place."""
    import torch

    for stage in (Stage.train_distributed, Stage.train_single):
        trained = read_if_taken(stage, TrainingResult)
        if trained is not None:
            path = folder(stage) / trained.weights
            model.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
            return model.eval()
    raise InputError("expected a result of train_single or train_distributed; neither was taken")


def _export(
    make_report: Callable[[Operators], Any],
    operator: "OperatorFolder",
    image: "NDArray[Any]",
    device: str,
) -> tuple[Any, Implementation, str]:
    """The graph, the implementation inside it, and what a person should know of it.

    A compiled composition is exported as it is and compiled when it is loaded. A library that
    cannot be exported is replaced by the best composition that can.
    """
    import torch

    from kernels.form import exporting_for_a_compiler
    from stages.reporting.package import export_report

    chosen = chosen_implementation()
    if "inference_graph" not in operator.spec.contexts:
        chosen = Implementation(rung=Rung.none, name="")
    options = [chosen]
    if chosen.rung is Rung.library:
        options += [Implementation(rung=Rung.standard, name=c.name) for c in operator.compositions]
    tensor = torch.from_numpy(image).to(device)
    failures = []
    for option in options:
        is_compiled = option.rung is Rung.compiled
        inside = option.model_copy(update={"rung": Rung.standard}) if is_compiled else option
        report = make_report(operators_for(operator, inside)).to(device)
        form = exporting_for_a_compiler() if is_compiled else nullcontext()
        try:
            with form:
                program = export_report(report, tensor)
        except Exception as error:  # the exporter raises whatever its passes raise
            first = (str(error).strip().splitlines() or [""])[0]
            failures.append(f"{option.name or 'the report'}: {type(error).__name__}: {first}")
            continue
        note = f" {failures[0]}: packed with {option.name} instead." if failures else ""
        return program, option, note
    raise InputError(
        f"training.workload: expected a report graph that torch.export takes; {'; '.join(failures)}"
    )


def _score(
    package: "Package", score: Any, ingest: IngestResult, settings: Settings, cases: Any
) -> dict[str, Figure]:
    """Metrics of the packed graph: on a phantom as deployed, on any other case as it was read."""
    from stages.imaging.fitting import fit_image, unfit_label
    from stages.imaging.full_case import load_full_case
    from stages.imaging.reading import read_case
    from stages.reporting.accuracy import score_cases

    shape = derive_data_shape(ingest, settings)

    def mask_of(image: "NDArray[Any]") -> "NDArray[Any]":
        return _predict_one(package, image)["mask"].reshape(shape.case_shape)

    def predict(case: Case) -> "tuple[NDArray[Any], NDArray[Any], tuple[float, ...]]":
        if shape.fit == "render":
            image, truth = load_full_case(ingest, [case], shape)
            return mask_of(image), truth, shape.spacing_mm
        image, label = read_case(case, ingest.label_map)
        mask = unfit_label(mask_of(fit_image(image, shape)), label.shape, shape)
        return mask, label, case.spacing_mm

    return score_cases(cases, predict, score)


def _measure_in_child(files: tuple[str, ...]) -> tuple[Figure, Figure, Figure]:
    """Median and 95th percentile in ms, and peak memory, in a process that does nothing else."""
    from stages.measuring.child import ChildFailedError, ask_child

    try:
        answer = ask_child("stages.produce_model", MEASURE, {"files": files}, CHILD_LIMIT_S)
    except ChildFailedError as error:
        failed = unknown(str(error))
        return failed, failed, failed
    median, p95, peak = (
        Figure.model_validate(answer[name]) for name in ("median_ms", "p95_ms", "peak_bytes")
    )
    return median, p95, peak


def measure(request: Path) -> None:
    """In the child: load the package and predict a held-out case, over and over."""
    from stages.imaging.full_case import load_full_case
    from stages.measuring.child import answer_path
    from stages.measuring.memory import peak_memory_bytes
    from stages.measuring.percentile import p95_figure
    from stages.measuring.timing import time_interleaved
    from stages.reporting.package import open_folder

    settings = load_settings(Stage.produce_model)
    device, target = settings.infrastructure.device, folder(Stage.produce_model)
    files: list[str] = json.loads(request.read_text("utf-8"))["files"]
    ingest = read(Stage.ingest_data, IngestResult)
    case, _ = load_full_case(
        ingest, _held_out(read_manifest()), derive_data_shape(ingest, settings)
    )
    image = case[None]
    opened: list[Package] = []

    def open_and_predict() -> None:
        opened.append(open_folder(target, files))
        opened[0].predict(image)

    peak = peak_memory_bytes(open_and_predict, device)
    repeats = settings.algorithm.timing_repeats * REPEATS_FACTOR
    call = {"model": lambda: opened[0].predict(image)}
    timing = time_interleaved(call, repeats, device, LATENCY_LIMIT_S)["model"]
    answer = {
        "median_ms": timing.as_figure().model_dump(),
        "p95_ms": p95_figure(timing).model_dump(),
        "peak_bytes": peak.model_dump(),
    }
    answer_path(request).write_text(json.dumps(answer), "utf-8")


def _judge(settings: Settings, *, note: str, **figures: Any) -> ModelResult:
    """Against accuracy, latency and device memory."""
    from stages.measuring.whole_job import scale
    from stages.reporting.targets import at_least, at_most, judge, tell

    product, metric = settings.product, settings.product.accuracy_metric
    missing = unknown(f"the workload gives no {metric}, or there are no cases to score")
    memory = scale(figures["peak_memory_bytes"], 1 / GIB)
    targets = (
        at_least(metric, product.accuracy_target, figures["accuracy"].get(metric, missing)),
        at_most("latency p95", product.latency_budget_ms, figures["latency_p95_ms"], "ms"),
        at_most("peak memory", settings.infrastructure.device_memory_gib, memory, "GiB"),
    )
    form = (
        "an exported graph, run by Python"
        if product.deployment == "python"
        else ("an exported graph")
    )
    return ModelResult(
        stage=Stage.produce_model,
        next=Stage.record_decision,
        reason=f"Packed as {form}: {tell(targets)}.{note}",
        verdict=judge(targets),
        targets=targets,
        **figures,
    )


def main() -> None:
    if sys.argv[1:2] == [MEASURE]:
        measure(Path(sys.argv[2]))
    else:
        execute(Stage.produce_model, produce_model)


if __name__ == "__main__":
    main()
