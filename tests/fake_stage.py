"""A stage's process with a result from a table: `python fake_stage.py STAGE`, in a workspace.

Not a test. It goes through the real contract (`execute`, results, marks); only the work is missing.
The table, `table.yaml`, holds for each stage what differs from the usual: `next`, how to `act`, how
long to `pause_s`, and what changes what it leaves behind.
"""

import hashlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from decision_results import (
    EMBED,
    ENVIRONMENT,
    INGEST,
    VALIDATION,
    budget,
    build,
    model,
    numerics,
    pilot,
    scaling,
    support,
    training,
)

from stages.contract import (
    NODES,
    Case,
    DecisionResult,
    InputError,
    ModelVerdict,
    PilotVerdict,
    Result,
    ScalingVerdict,
    Settings,
    Stage,
    StageSummary,
    SupportVerdict,
    execute,
    folder,
    known,
    read_raw,
    unknown,
    write_manifest,
    write_text,
)

RESULTS: dict[Stage, Result] = {
    result.stage: result
    for result in (
        ENVIRONMENT,
        INGEST,
        VALIDATION,
        support(SupportVerdict.build, Stage.build_operator, is_valued=False),
        pilot(PilotVerdict.lifts, lift=0.1).model_copy(update={"next": Stage.build_operator}),
        build(),
        numerics(),
        EMBED,
        budget(),
        scaling(ScalingVerdict.distribute),
        training(Stage.train_single),
        training(Stage.train_distributed, num_workers=2),
        model(),
    )
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
    act(entry.get("act"))
    result = WORK[stage](entry) if stage in WORK else RESULTS[stage]
    following = Stage(entry["next"]) if "next" in entry else result.next
    reason = f"table says so, {entry.get('note', '')}"
    return result.model_copy(update={"next": following, "reason": reason})


def act(what: str | None) -> None:
    """Fall in the way that is asked for; None works on."""
    if what == "segfault":
        os.kill(os.getpid(), signal.SIGSEGV)
    if what == "hang":
        write_text(Path("hanging_pid"), str(os.getpid()))
        time.sleep(600)
    if what == "crash":
        raise RuntimeError("the shelf fell down")
    if what == "refuse":
        raise InputError("expected 3 axes in case_7, got 4\n  remedy: split it by time")


def ingest_data(entry: dict[str, Any]) -> Result:
    """A manifest of one case."""
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
    return INGEST


def train(stage: Stage, entry: dict[str, Any]) -> Result:
    """A curve of five steps."""
    with (folder(stage) / "curves.jsonl").open("w", encoding="utf-8") as file:
        for step in range(1, 6):
            print(json.dumps({"step": step, "loss": 1.0 / step}), file=file, flush=True)
            time.sleep(entry.get("step_s", 0))
    return RESULTS[stage]


def produce_model(entry: dict[str, Any]) -> Result:
    """A package whose graph is a factor."""
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
    verdict = ModelVerdict.met if entry.get("met", True) else ModelVerdict.missed
    packed = {
        "files": ("graph.pt2", "wrap.py", "example.npz"),
        "content_hash": hashlib.sha256(factor.tobytes()).hexdigest(),
        "input_shape": (1, 1, 2, 2),
    }
    return model(verdict).model_copy(update=packed)


def record_decision(entry: dict[str, Any]) -> Result:
    """The stages that were taken, and pages of one line."""
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
        stage=Stage.record_decision,
        reason="replaced by the table's",
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
        data_digest=INGEST.data_digest,
        expires_on="2027-01-01",
        reopen_when=(),
        has_model=has_model,
        all_targets_met=has_model,
    )


WORK: dict[Stage, Callable[[dict[str, Any]], Result]] = {
    Stage.ingest_data: ingest_data,
    Stage.train_single: partial(train, Stage.train_single),
    Stage.train_distributed: partial(train, Stage.train_distributed),
    Stage.produce_model: produce_model,
    Stage.record_decision: record_decision,
}
"""Those that leave files beside their result."""


def main() -> None:
    stage = Stage(sys.argv[1])
    table = yaml.safe_load(Path("table.yaml").read_text("utf-8")) or {}
    entry = table.get(stage) or {}

    def do_work(settings: Settings) -> Result:
        return work(stage, entry)

    execute(stage, do_work)


if __name__ == "__main__":
    main()
