"""A stage's process with a result from a table: `python fake_stage.py STAGE`, in a workspace.

Not a test. It goes through the real contract (`execute`, results, marks); only the work is missing.
The table, `table.yaml`, holds for each stage its `next`, and optionally `verdict` and `act`.
"""

import hashlib
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import yaml

from stages.contract import (
    NODES,
    Arm,
    BudgetResult,
    BuildResult,
    Candidate,
    Case,
    DecisionResult,
    Economics,
    EmbedResult,
    EnvironmentResult,
    Implementation,
    IngestResult,
    InputError,
    ModelResult,
    NumericsCheck,
    NumericsResult,
    PilotResult,
    Result,
    Rung,
    ScalingPoint,
    ScalingResult,
    Settings,
    Stage,
    StageSummary,
    SupportResult,
    Target,
    TrainingResult,
    ValidationResult,
    execute,
    folder,
    known,
    read_raw,
    unknown,
    write_manifest,
    write_text,
)

STANDARD = Implementation(rung=Rung.standard, name="minplus")
CUSTOM = Implementation(rung=Rung.custom, name="distance_transform")
DEFAULT_NEXT = {
    Stage.check_support: "build_operator",
    Stage.pilot_accuracy: "build_operator",
    Stage.build_operator: "validate_numerics",
    Stage.validate_numerics: "embed_operator",
    Stage.embed_operator: "probe_budget",
    Stage.probe_budget: "train_single",
    Stage.probe_scaling: "train_distributed",
    Stage.train_single: "produce_model",
    Stage.train_distributed: "produce_model",
    Stage.produce_model: "record_decision",
}
WRAP = """
import numpy
import mlflow
from mlflow.models import set_model
from mlflow.pyfunc import PythonModel


class Doubling(PythonModel):
    def load_context(self, context):
        with numpy.load(context.artifacts["graph"]) as file:
            self.factor = file["factor"]

    def predict(self, context, model_input, params=None):
        mask = (model_input[0, 0] * self.factor).astype(numpy.uint8)
        return {"mask": mask, "report": numpy.zeros((1, 7), numpy.float32)}


set_model(Doubling())
"""


def work(stage: Stage, entry: dict[str, Any]) -> Result:
    """Act as the table says, then give the result."""
    print(f"{stage} at work", flush=True)
    time.sleep(entry.get("pause_s", 0))
    act = entry.get("act")
    if act == "segfault":
        os.kill(os.getpid(), signal.SIGSEGV)
    if act == "hang":
        write_text(Path("hanging_pid"), str(os.getpid()))
        time.sleep(600)
    if act == "crash":
        raise RuntimeError("the shelf fell down")
    if act == "refuse":
        raise InputError("expected 3 axes in case_7, got 4\n  remedy: split it by time")
    following = entry.get("next", DEFAULT_NEXT.get(stage))
    return RESULTS[stage](
        {"stage": stage, "next": following, "reason": f"table says so, {entry.get('note', '')}"},
        entry,
    )


def environment(base: dict[str, Any], entry: dict[str, Any]) -> Result:
    return EnvironmentResult(
        **base,
        cpu_model="abacus",
        num_cores=2,
        instruction_sets=(),
        memory_bytes=1,
        gpus=(),
        operating_system="Linux",
        python_version="3.11",
        compiler=None,
        versions={"torch": "2.13.0"},
    )


def ingest_data(base: dict[str, Any], entry: dict[str, Any]) -> Result:
    case = Case(
        case_id="c0",
        patient="p0",
        split="train",
        images=("c0.nii.gz",),
        label="c0_label.nii.gz",
        shape=(8, 8, 8),
        spacing_mm=(1.0, 1.0, 1.0),
        num_lesions=1,
        num_lesion_voxels=3,
        content_hash="0" * 64,
    )
    write_manifest([case])
    return IngestResult(
        **base,
        name="fake",
        kind="phantom",
        source="data/phantom.yaml",
        num_cases=1,
        num_patients=1,
        num_spatial_dims=3,
        channel_names=("t1",),
        label_names=("background", "lesion"),
        largest_shape=(8, 8, 8),
        median_shape=(8, 8, 8),
        median_spacing_mm=(1.0, 1.0, 1.0),
        data_digest="d" * 64,
        num_train=1,
        num_validation=0,
        num_test=0,
    )


def validate_data(base: dict[str, Any], entry: dict[str, Any]) -> Result:
    return ValidationResult(
        **base, is_accepted=True, findings=(), num_expectations=3, data_docs=None
    )


def check_support(base: dict[str, Any], entry: dict[str, Any]) -> Result:
    candidates = tuple(
        Candidate(
            name=name,
            rung=Rung.standard,
            is_right=True,
            largest_error=known(0.0),
            is_differentiable=False,
            is_exportable=True,
            qualifies=True,
            disqualified_because=None,
            time_ms=known(time_ms, time_ms - 1, time_ms + 1, 9),
            end_to_end_ms=unknown("not measured here"),
        )
        for name, time_ms in (("minplus", 300.0), ("running_minimum", 900.0))
    )
    economics = Economics(
        currency="EUR",
        are_examples=True,
        horizon_months=24,
        cost=known(9000.0),
        benefit=known(20000.0),
        benefit_cost_ratio=known(2.2),
        payback_probability=known(0.9),
        break_even_days=known(25.0),
        break_even_value_per_month=unknown("valued already"),
        sentence="pays",
    )
    return SupportResult(
        **base,
        verdict=entry.get("verdict", "build"),
        operator="distance_transform",
        context="inference_graph",
        claim="latency",
        input_shape=(1, 1, 8, 8, 8),
        candidates=candidates,
        rest_ms=known(100.0),
        baseline_ms=known(400.0),
        target_ms=known(300.0),
        share=known(0.75),
        ceiling=known(4.0),
        floor_ms=known(1.0),
        forecast_operator_ms=known(30.0),
        forecast_gain=known(3.0, 2.5, 3.5),
        economics=economics,
        implementation=STANDARD,
        worth_building=True,
        measurement_cv=known(0.02),
    )


def pilot_accuracy(base: dict[str, Any], entry: dict[str, Any]) -> Result:
    arms = tuple(
        Arm(name=name, lesion_f1=(f1, f1), dice=(0.7, 0.7), lesion_recall=(0.5, 0.5))
        for name, f1 in (("without", 0.5), ("with", 0.6))
    )
    return PilotResult(
        **base,
        verdict="lifts",
        metric="lesion_f1",
        arms=arms,
        lift=known(0.1, 0.05, 0.15),
        num_steps=60,
        num_seeds=2,
        num_patients_held_out=4,
        implementation=STANDARD,
    )


def build_operator(base: dict[str, Any], entry: dict[str, Any]) -> Result:
    return BuildResult(
        **base,
        verdict="built",
        form="compiled",
        library="distance_transform.so",
        library_hash="0" * 64,
        build_s=known(2.0),
        compiler="g++",
        undefined_symbols=(),
        error=None,
        implementation=CUSTOM,
    )


def validate_numerics(base: dict[str, Any], entry: dict[str, Any]) -> Result:
    check = NumericsCheck(
        name="values", passed=True, num_cases=8, largest_error=known(1e-6), detail="all cases"
    )
    return NumericsResult(**base, verdict="accepted", checks=(check,), implementation=CUSTOM)


def embed_operator(base: dict[str, Any], entry: dict[str, Any]) -> Result:
    return EmbedResult(
        **base,
        verdict="embedded",
        compiles_fullgraph=True,
        is_exportable=True,
        baseline_ms=known(400.0),
        embedded_ms=known(130.0),
        operator_ms=known(30.0),
        realised_gain=known(3.1, 2.9, 3.3),
        forecast_gain=known(3.0),
        forecast_error=known(-0.03),
        findings=(),
        implementation=CUSTOM,
    )


def probe_budget(base: dict[str, Any], entry: dict[str, Any]) -> Result:
    return BudgetResult(
        **base,
        verdict="within",
        forecast_memory_bytes=known(1e9),
        measured_memory_bytes=known(1.1e9),
        memory_forecast_error=known(-0.09),
        memory_budget_bytes=2**34,
        state_bytes=known(1e7),
        step_time_ms=known(200.0),
        num_steps=150,
        job_hours=known(0.01),
        budget_hours=1.0,
        job_cost=known(0.004),
        currency="EUR",
        remedy=None,
        micro_batch_size=2,
        fits_memory=True,
    )


def probe_scaling(base: dict[str, Any], entry: dict[str, Any]) -> Result:
    point = ScalingPoint(
        num_workers=2,
        where="this machine",
        is_measured=True,
        step_time_ms=known(120.0),
        speedup=known(1.7),
        efficiency=known(0.85),
        job_hours=known(0.006),
        job_cost=known(0.005),
    )
    verdict = {
        "train_distributed": "distribute",
        "train_single": "refuse",
        "record_decision": "impossible",
    }[base["next"]]
    return ScalingResult(
        **base,
        verdict=verdict,
        compute_ms=known(100.0),
        exposed_communication_ms=known(10.0),
        skew_ms=known(2.0),
        latency_us=known(30.0),
        bandwidth_mbit_s=known(9000.0),
        points=(point,),
        num_workers=2,
        forecast_efficiency=known(0.85),
    )


def training(base: dict[str, Any], entry: dict[str, Any]) -> Result:
    with (folder(base["stage"]) / "curves.jsonl").open("w", encoding="utf-8") as file:
        for step in range(1, 6):
            print(json.dumps({"step": step, "loss": 1.0 / step}), file=file, flush=True)
            time.sleep(entry.get("step_s", 0))
    return TrainingResult(
        **base,
        weights="weights.pt",
        num_workers=1,
        num_steps=5,
        training_s=1.0,
        step_time_ms=known(200.0),
        peak_memory_bytes=known(1e9),
        compute_cost=known(0.004),
        validation={"dice": known(0.7)},
        final_loss=known(0.2),
        efficiency=unknown("one worker"),
        forecast_efficiency=unknown("one worker"),
        resumed_from_step=None,
        micro_batch_size=2,
    )


def produce_model(base: dict[str, Any], entry: dict[str, Any]) -> Result:
    import numpy

    place = folder(Stage.produce_model)
    factor = numpy.float32(entry.get("factor", 2))
    with (place / "graph.pt2").open("wb") as file:
        numpy.savez(file, factor=factor)
    numpy.savez(
        place / "example.npz",
        image=numpy.ones((1, 1, 2, 2), numpy.float32),
        mask=numpy.full((2, 2), factor, numpy.uint8),
        report=numpy.zeros((1, 7), numpy.float32),
    )
    write_text(place / "wrap.py", entry.get("wrap", WRAP))
    met = bool(entry.get("met", True))
    target = Target(
        name="dice",
        wanted=0.6,
        reached=known(0.7 if met else 0.5),
        unit="",
        is_met=met,
        difference=known(0.1 if met else -0.1),
    )
    return ModelResult(
        **base,
        verdict="met" if met else "missed",
        files=("graph.pt2", "wrap.py", "example.npz"),
        content_hash=hashlib.sha256(factor.tobytes()).hexdigest(),
        input_shape=(1, 1, 2, 2),
        accuracy={"dice": known(0.7, 0.65, 0.75)},
        latency_p95_ms=known(130.0),
        latency_median_ms=known(120.0),
        peak_memory_bytes=known(5e8),
        targets=(target,),
        num_model_lesions=known(3.0),
    )


def record_decision(base: dict[str, Any], entry: dict[str, Any]) -> Result:
    others = [stage for stage in Stage if stage is not Stage.record_decision]
    raw = {stage: read_raw(stage) for stage in others}
    taken = tuple(stage for stage in others if raw[stage]["status"] == "done")
    has_model = Stage.produce_model in taken
    write_text(folder(Stage.record_decision) / "decision.md", "# Build it\n")
    write_text(folder(Stage.record_decision) / "decision.html", "<h1>Build it</h1>\n")
    figures = {
        "accuracy": known(0.7, 0.65, 0.75),
        "latency_p95_ms": known(130.0),
        "step_time_ms": known(200.0),
        "peak_memory_bytes": known(1e9),
        "end_to_end_gain": known(3.1),
        "scaling_efficiency": unknown("one worker"),
        "compute_cost": known(0.004),
    }
    return DecisionResult(
        **base,
        headline="Build it",
        operator="distance_transform",
        path=taken,
        nodes=" → ".join(dict.fromkeys(NODES[stage] for stage in taken if NODES[stage] != "–")),
        stages=tuple(
            StageSummary(
                stage=stage,
                node=NODES[stage],
                was_taken=stage in taken,
                verdict=raw[stage].get("verdict"),
                reason=raw[stage]["reason"],
            )
            for stage in others
        ),
        table=(),
        checklist=(),
        questions=(),
        pitfalls=(),
        forecasts=(),
        figures=figures,
        economics_are_examples=True,
        data_digest="d" * 64,
        expires_on="2027-01-01",
        reopen_when=(),
        has_model=has_model,
        all_targets_met=has_model,
    )


RESULTS = {stage: globals().get(stage, training) for stage in Stage}


def main() -> None:
    stage = Stage(sys.argv[1])
    table = yaml.safe_load(Path("table.yaml").read_text("utf-8")) or {}
    entry = table.get(stage) or {}

    def do_work(settings: Settings) -> Result:
        return work(stage, entry)

    execute(stage, do_work)


if __name__ == "__main__":
    main()
