"""One real training step, over and over, with whatever stands in for the operator: for
measuring."""

from collections.abc import Callable, Sequence

from stages.contract import Case, DataShape, InputError, Operators, ReadCase, Workload
from stages.training.job import Job
from stages.training.order import make_batch
from stages.training.step import make_step

LEARNING_RATE = 1e-3
"""Any: it does not change what a step costs."""


def rehearse(
    workload: Workload,
    cases: Sequence[Case],
    read_case: ReadCase,
    shape: DataShape,
    *,
    batch_size: int,
    seed: int,
    device: str,
) -> Callable[[Operators], Callable[[], object]]:
    """From handles to a training step on the job's first batch; each has weights of its own, equal
    at first.

    Raises:
        InputError: there are no training cases.
    """
    train = [case for case in cases if case.split == "train"]
    if not train:
        raise InputError(
            "expected training cases in the manifest, found none: check the data's split"
        )
    job = Job(
        num_steps=1,
        batch_size=batch_size,
        micro_batch_size=batch_size,
        learning_rate=LEARNING_RATE,
        seed=seed,
        checkpoint_every_steps=1,
        device=device,
    )
    samples = workload.make_samples(train, read_case, shape)
    batch = make_batch(workload, samples, job, range(batch_size))

    def prepare(operators: Operators) -> Callable[[], object]:
        step = make_step(workload, operators, shape, job)
        return lambda: step.run(batch)

    return prepare
