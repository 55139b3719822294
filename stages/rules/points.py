"""G: a scaling point for each number of workers, here and on the stated network."""

from collections.abc import Mapping
from dataclasses import dataclass

from stages.contract import Figure, ScalingPoint, known, unknown
from stages.rules.ring import Link, StepProfile, forecast_step_ms
from stages.rules.scaling import HERE, NETWORK


@dataclass(frozen=True)
class Job:
    """What is scaled: the global batch stays, whatever the number of workers."""

    num_steps: int
    batch_size: int
    price_per_hour: float


@dataclass(frozen=True)
class Measured:
    """What was measured on this machine."""

    one_worker_ms: Mapping[int, Figure]
    """Step of one worker with the whole machine, by the samples of its batch."""
    two_workers_ms: Figure
    """Step of two workers that share the machine, half of the batch each."""
    two_workers_speedup: Figure
    profile: StepProfile
    """The slower of the two workers, without communication."""
    skew_ms: float
    link: Link
    """Between two workers on this machine."""


@dataclass(frozen=True)
class Seats:
    """How many workers this machine has room for."""

    count: int
    are_gpus: bool
    """Each worker has a GPU of its own; otherwise they share the cores, at least one for each."""


def worker_counts(max_workers: int) -> tuple[int, ...]:
    """1, 2, 4 and so on, and the most."""
    powers = [2**power for power in range(max_workers.bit_length()) if 2**power <= max_workers]
    return tuple(sorted({*powers, max_workers}))


def samples_of_worker(batch_size: int, num_workers: int) -> int:
    """Samples of the worker with the largest part of the batch."""
    return -(-batch_size // num_workers)


def samples_by_count(batch_size: int, max_workers: int) -> tuple[int, ...]:
    """The different sizes of a worker's part, ascending."""
    counts = [count for count in worker_counts(max_workers) if count <= batch_size]
    return tuple(sorted({samples_of_worker(batch_size, count) for count in counts}))


def make_points(
    measured: Measured, job: Job, max_workers: int, seats: Seats, network: Link
) -> tuple[ScalingPoint, ...]:
    """Points for 1 to `max_workers` here, then on the stated network.

    Here, workers share the machine's cores: N workers on 1/N of the batch each are taken to compute
    for as long as two on half of it each; with GPUs, for as long as one worker on that part. On the
    network each worker has a machine like this one to itself; its compute is that measured here
    for its part of the batch.
    """
    counts = worker_counts(max_workers)
    here = [_point_here(measured, job, n, seats) for n in counts]
    return (*here, *(_point_on_network(measured, job, n, network) for n in counts if n > 1))


def _point_here(measured: Measured, job: Job, num_workers: int, seats: Seats) -> ScalingPoint:
    if num_workers == 1:
        return _point(job, 1, HERE, True, measured.one_worker_ms[job.batch_size], known(1.0))
    if num_workers > job.batch_size:
        return _unknown_point(num_workers, HERE, _cannot_split(job, num_workers))
    if num_workers == 2:
        speedup = measured.two_workers_speedup
        return _point(job, 2, HERE, True, measured.two_workers_ms, speedup)
    if num_workers > seats.count:
        kind = "GPUs" if seats.are_gpus else "cores"
        reason = unknown(f"this machine has {seats.count} {kind}")
        return _unknown_point(num_workers, HERE, reason)
    if not seats.are_gpus:  # the profile is that of the slower worker: its skew is in it
        step = forecast_step_ms(measured.profile, num_workers, measured.link)
    else:
        profile = _scaled_profile(measured, job, num_workers)
        step = forecast_step_ms(profile, num_workers, measured.link, measured.skew_ms)
    return _forecast_point(measured, job, num_workers, HERE, step)


def _point_on_network(
    measured: Measured, job: Job, num_workers: int, network: Link
) -> ScalingPoint:
    if num_workers > job.batch_size:
        return _unknown_point(num_workers, NETWORK, _cannot_split(job, num_workers))
    profile = _scaled_profile(measured, job, num_workers)
    step = forecast_step_ms(profile, num_workers, network, measured.skew_ms)
    return _forecast_point(measured, job, num_workers, NETWORK, step)


def _scaled_profile(measured: Measured, job: Job, num_workers: int) -> StepProfile:
    """One worker's step on its part of the batch, with a machine or a GPU to itself."""
    step = measured.one_worker_ms[samples_of_worker(job.batch_size, num_workers)].value
    assert step is not None
    profile = measured.profile
    total = profile.forward_backward_ms + profile.optimizer_ms
    backward_share = profile.forward_backward_ms / total
    return StepProfile(
        forward_backward_ms=step * backward_share,
        optimizer_ms=step * (1 - backward_share),
        bucket_bytes=profile.bucket_bytes,
        bucket_ready=profile.bucket_ready,
    )


def _forecast_point(
    measured: Measured, job: Job, num_workers: int, where: str, step_ms: float
) -> ScalingPoint:
    alone = measured.one_worker_ms[job.batch_size].value
    assert alone is not None
    return _point(job, num_workers, where, False, known(step_ms), known(alone / step_ms))


def _point(
    job: Job, num_workers: int, where: str, is_measured: bool, step: Figure, speedup: Figure
) -> ScalingPoint:
    hours = step.times(job.num_steps / 3.6e6)
    return ScalingPoint(
        num_workers=num_workers,
        where=where,
        is_measured=is_measured,
        step_time_ms=step,
        speedup=speedup,
        efficiency=speedup.times(1 / num_workers),
        job_hours=hours,
        job_cost=hours.times(num_workers * job.price_per_hour),
    )


def _unknown_point(num_workers: int, where: str, reason: Figure) -> ScalingPoint:
    return ScalingPoint(
        num_workers=num_workers,
        where=where,
        is_measured=False,
        step_time_ms=reason,
        speedup=reason,
        efficiency=reason,
        job_hours=reason,
        job_cost=reason,
    )


def _cannot_split(job: Job, num_workers: int) -> Figure:
    return unknown(f"a global batch of {job.batch_size} cannot be split over {num_workers} workers")
