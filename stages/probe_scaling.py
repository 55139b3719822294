"""G: does distribution pay: memory on paper, then two real workers, then a forecast for more."""

import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stages.contract import (
    SCRATCH,
    BudgetResult,
    IngestResult,
    ScalingResult,
    ScalingVerdict,
    Settings,
    Stage,
    chosen_implementation,
    execute,
    known,
    load_settings,
    read,
    read_manifest,
    write_text,
)

if TYPE_CHECKING:
    from stages.measuring.decomposition import Decomposition
    from stages.rules.points import Measured, Seats

WORKER = "--worker"
LAUNCH_LIMIT_S = 900.0


def probe_scaling(settings: Settings) -> ScalingResult:
    """Judge distribution of a job that is over the budget of one worker."""
    from stages.rules.distribution import decide_unmeasured, find_obstacle
    from stages.rules.sharding import tell_why_it_fits_nowhere
    from stages.training.launch import LaunchError

    budget, most = read(Stage.probe_budget, BudgetResult), settings.infrastructure.max_workers
    reason = tell_why_it_fits_nowhere(budget, most)
    if reason is not None:
        return decide_unmeasured(ScalingVerdict.impossible, reason, settings)
    seats = _find_seats(settings.infrastructure.device)
    reason = find_obstacle(most, settings.training.batch_size, seats)
    if reason is not None:
        return decide_unmeasured(ScalingVerdict.refuse, reason, settings)
    try:
        report = _run_workers()
    except LaunchError as error:
        reason = f"Cannot tell: two workers could not be measured: {str(error).splitlines()[-1]}"
        return decide_unmeasured(ScalingVerdict.inconclusive, reason, settings)
    return _judge(report, seats, settings, budget.currency)


def _find_seats(device: str) -> "Seats":
    """GPUs of this machine, or cores to share."""
    from stages.rules.points import Seats

    if not device.startswith("cuda"):
        return Seats(os.cpu_count() or 1, are_gpus=False)
    import torch

    return Seats(torch.cuda.device_count(), are_gpus=True)


def _run_workers() -> dict[str, Any]:
    """Two workers under torchrun; what the first of them wrote down."""
    from stages.rules.distribution import FEWEST
    from stages.training.launch import launch

    answer = SCRATCH / "probe_scaling" / "answer.json"
    answer.unlink(missing_ok=True)
    launch(
        "stages.probe_scaling",
        (WORKER, str(answer)),
        num_workers=FEWEST,
        failure_folder=answer.parent,
        time_limit_s=LAUNCH_LIMIT_S,
        num_restarts=0,
    )
    report: dict[str, Any] = json.loads(answer.read_text("utf-8"))
    return report


def _judge(
    report: dict[str, Any], seats: "Seats", settings: Settings, currency: str
) -> ScalingResult:
    from stages.measuring.decomposition import decompose
    from stages.rules.distribution import decide_distribution

    parts = decompose(report)
    measured = _interpret(report, parts, settings.training.batch_size)
    decided = decide_distribution(measured, seats, settings, currency)
    return ScalingResult(
        stage=Stage.probe_scaling,
        compute_ms=parts.compute_ms,
        exposed_communication_ms=parts.exposed_ms,
        skew_ms=parts.skew_ms,
        latency_us=known(measured.link.latency_us),
        bandwidth_mbit_s=known(measured.link.bandwidth_mbit_s),
        **vars(decided),
    )


def _interpret(report: dict[str, Any], parts: "Decomposition", batch_size: int) -> "Measured":
    """From the workers' report to what the forecast needs."""
    from stages.measuring.ratios import ratio
    from stages.measuring.timing import Timing
    from stages.rules.points import Measured
    from stages.rules.ring import fit_link, profile_step

    alone = {int(size): Timing(tuple(ms)) for size, ms in report["one_worker_ms"].items()}
    collectives = {int(size): us for size, us in report["collective_us"].items()}
    compute_ms = parts.compute_ms.value
    assert compute_ms is not None
    return Measured(
        one_worker_ms={size: timing.as_figure() for size, timing in alone.items()},
        two_workers_ms=parts.together.as_figure(),
        two_workers_speedup=ratio(alone[batch_size], parts.together),
        profile=profile_step(compute_ms, report["bucket_bytes"], report["bucket_ready_ms"]),
        skew_ms=parts.skew_ms.value or 0.0,
        link=fit_link(list(collectives), list(collectives.values())),
    )


def work(answer: Path) -> None:
    """In a worker: measure the exchange with the other, then, on the first, one worker alone."""
    import torch.distributed as dist

    from stages.imaging.reading import read_case
    from stages.measuring.exchange import measure_exchange
    from stages.measuring.one_worker import time_one_worker
    from stages.rules.points import samples_by_count
    from stages.training.distributed import joined_team
    from stages.training.failures import failures_told
    from stages.training.trial import prepare_trial, step_alone, step_in_team

    with failures_told(answer.parent):
        settings = load_settings(Stage.probe_scaling)
        micro_batch_size = read(Stage.probe_budget, BudgetResult).micro_batch_size
        ingest, cases = read(Stage.ingest_data, IngestResult), read_manifest()
        read_one = partial(read_case, label_map=ingest.label_map)
        chosen = chosen_implementation()
        setup, samples = prepare_trial(ingest, cases, read_one, chosen, settings, micro_batch_size)
        with joined_team(setup.workload, samples, setup.job) as (team, device):
            setup = setup.on(device)
            network, take_step = step_in_team(setup, samples, team)
            report = measure_exchange(network, take_step, device)
            if team.rank == 0:
                batch_size, most = setup.job.batch_size, settings.infrastructure.max_workers
                sizes = samples_by_count(batch_size, most)
                report["one_worker_ms"] = time_one_worker(step_alone(setup, samples), sizes, device)
                write_text(answer, json.dumps(report))
            dist.barrier()


def main() -> None:
    if sys.argv[1:2] == [WORKER]:
        work(Path(sys.argv[2]))
    else:
        execute(Stage.probe_scaling, probe_scaling)


if __name__ == "__main__":
    main()
