"""A few real steps of the job, for the probes: one batch of training cases, read once."""

from collections.abc import Callable, Sequence

from torch import nn

from stages.contract import Case, Implementation, IngestResult, ReadCase, Sample, Settings
from stages.training.order import make_batch
from stages.training.setup import Setup, set_up
from stages.training.step import make_step
from stages.training.team import ALONE, Team


def prepare_trial(
    ingest: IngestResult,
    cases: Sequence[Case],
    read_one: ReadCase,
    chosen: Implementation,
    settings: Settings,
    micro_batch_size: int,
) -> tuple[Setup, tuple[Sample, ...]]:
    """The job as it is set up, and as many training samples as a batch holds.

    No checkpoint falls due: a probe ends long before its job would.
    """
    setup = set_up(ingest, chosen, settings, micro_batch_size, settings.training.num_steps)
    train_cases = [case for case in cases if case.split == "train"][: setup.job.batch_size]
    lazy = setup.workload.make_samples(train_cases, read_one, setup.shape)
    return setup, tuple(lazy[index] for index in range(len(train_cases)))


def step_in_team(
    setup: Setup, samples: Sequence[Sample], team: Team = ALONE
) -> tuple[nn.Module, Callable[[int], object]]:
    """What is called in a step, and a step of the job on this worker's part, given its index."""
    workload, job = setup.workload, setup.job
    step = make_step(workload, setup.operators, setup.shape, job)
    step.network = team.wrap(step)
    places = team.slice_of(job.batch_size)
    share = team.num_workers * len(places) / job.batch_size

    def take_step(index: int) -> None:
        positions = [index * job.batch_size + place for place in places]
        step.run(make_batch(workload, samples, job, positions), share)

    return step.network, take_step


def step_alone(setup: Setup, samples: Sequence[Sample]) -> Callable[[int], object]:
    """A step by one worker on so many samples of the first batch."""
    workload, job = setup.workload, setup.job
    step = make_step(workload, setup.operators, setup.shape, job)

    def take_part(num_samples: int) -> None:
        step.run(make_batch(workload, samples, job, range(num_samples)))

    return take_part
