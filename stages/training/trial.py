"""A few real steps of the job, for the probes: one batch of training cases, read once."""

from collections.abc import Sequence

from stages.contract import Case, Implementation, IngestResult, ReadCase, Sample, Settings
from stages.training.setup import Setup, set_up


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
