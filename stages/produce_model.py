"""I: pack the model as files, and measure the packed form against the targets."""

import json
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stages.contract import (
    Case,
    IngestResult,
    ModelResult,
    Rung,
    Settings,
    SourceKind,
    Stage,
    chosen_implementation,
    derive_data_shape,
    execute,
    folder,
    known,
    load_settings,
    load_workload,
    open_chosen,
    read,
    read_manifest,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stages.measuring.serving import Serving

MEASURE = "--measure"
CHILD_LIMIT_S = 1200.0


def produce_model(settings: Settings) -> ModelResult:
    """Export, pack, then take accuracy, latency and memory of what was packed.

    Raises:
        InputError: nothing was trained, or the workload's report graph cannot be exported.
    """
    import torch

    from stages.imaging.full_case import load_full_case
    from stages.imaging.native import predict_natively
    from stages.reporting.accuracy import held_out, score_cases
    from stages.reporting.example import synthesise_like
    from stages.reporting.export import export_best
    from stages.reporting.package import (
        Contents,
        open_folder,
        predict_one,
        write_example,
        write_package,
    )
    from stages.reporting.targets import hold_against, judge, tell
    from stages.rules.contention import is_too_busy
    from stages.training.trained import load_trained

    ingest = read(Stage.ingest_data, IngestResult)
    shape = derive_data_shape(ingest, settings)
    workload = load_workload(settings.training)
    operator = open_chosen(settings.algorithm.operator)
    scored = held_out(read_manifest())
    image, _ = load_full_case(ingest, scored, shape)
    model = load_trained(workload.make_model(shape))
    exported = export_best(
        lambda operators: workload.make_report(model, operators, shape),
        operator,
        chosen_implementation(),
        torch.from_numpy(image[None]).to(settings.infrastructure.device),
    )
    contents = Contents(
        shape=shape,
        implementation=exported.implementation,
        operator=operator if exported.implementation.rung is Rung.custom else None,
        report_columns=workload.report_columns,
        label_names=ingest.label_names,
        channel_names=ingest.channel_names,
        deployment=settings.product.deployment,
        device=settings.infrastructure.device,
        data_digest=ingest.data_digest,
    )
    target = folder(Stage.produce_model)
    files, content_hash = write_package(target, exported.program, contents)
    package = open_folder(target, files)
    example = image if ingest.kind is SourceKind.phantom else synthesise_like(image)
    write_example(target, example[None], predict_one(package, example))
    num_model_lesions = len(predict_one(package, image)["report"])

    def segment(image: "NDArray[Any]") -> "NDArray[Any]":
        return predict_one(package, image)["mask"].reshape(shape.case_shape)

    def predict(case: Case) -> "tuple[NDArray[Any], NDArray[Any], tuple[float, ...]]":
        return predict_natively(case, ingest, shape, segment)

    accuracy = score_cases(scored, predict, workload.score_case)
    serving = _measure_in_child(files)
    is_busy = is_too_busy(serving.waiting)
    excused = (serving.waiting.value or 0.0) if is_busy else 0.0
    targets = hold_against(settings, accuracy, serving.p95_ms, serving.peak_bytes, excused)
    caveat = (
        f" Other processes held the processor for {serving.waiting.value or 0:.0%} of the timing: "
        "measure latency again on a quiet machine, by `breakeven run --fresh`."
        if is_busy
        else ""
    )
    runner = ", run by Python" if settings.product.deployment == "python" else ""
    return ModelResult(
        stage=Stage.produce_model,
        next=Stage.record_decision,
        reason=f"Packed as an exported graph{runner}: {tell(targets)}.{caveat}{exported.note}",
        verdict=judge(targets),
        files=files,
        content_hash=content_hash,
        input_shape=(1, *image.shape),
        accuracy=accuracy,
        latency_p95_ms=serving.p95_ms,
        latency_median_ms=serving.median_ms,
        waiting=serving.waiting,
        peak_memory_bytes=serving.peak_bytes,
        targets=targets,
        num_model_lesions=known(float(num_model_lesions)),
    )


def _measure_in_child(files: tuple[str, ...]) -> "Serving":
    """In a process that does nothing else."""
    from stages.measuring.child import ChildFailedError, ask_child
    from stages.measuring.serving import Serving

    try:
        answer = ask_child("stages.produce_model", MEASURE, {"files": files}, CHILD_LIMIT_S)
    except ChildFailedError as error:
        return Serving.unknown(str(error))
    return Serving.model_validate(answer)


def measure(request: Path) -> None:
    """In the child: load the package and predict a held-out case, over and over."""
    from stages.imaging.full_case import load_full_case
    from stages.measuring.child import answer_path
    from stages.measuring.serving import measure_serving
    from stages.reporting.accuracy import held_out
    from stages.reporting.package import open_folder

    settings = load_settings(Stage.produce_model)
    files: list[str] = json.loads(request.read_text("utf-8"))["files"]
    ingest = read(Stage.ingest_data, IngestResult)
    shape = derive_data_shape(ingest, settings)
    image, _ = load_full_case(ingest, held_out(read_manifest()), shape)
    serving = measure_serving(
        lambda: partial(open_folder(folder(Stage.produce_model), files).predict, image[None]),
        settings.algorithm.timing_repeats,
        settings.infrastructure.device,
    )
    answer_path(request).write_text(serving.model_dump_json(), "utf-8")


def main() -> None:
    if sys.argv[1:2] == [MEASURE]:
        measure(Path(sys.argv[2]))
    else:
        execute(Stage.produce_model, produce_model)


if __name__ == "__main__":
    main()
