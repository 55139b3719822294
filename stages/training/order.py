"""Which sample comes when: functions of the seed and a position, so that a job can resume anywhere.

Position p counts samples from the start of the job: sample i of step s is p = s * batch_size + i,
whatever the number of workers and the micro batch.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from stages.contract import Sample, Workload
from stages.training.job import Job

_ORDER, _AUGMENT, _STEP = range(3)
"""Independent streams of one seed."""


def sample_index(seed: int, num_samples: int, position: int) -> int:
    """The sample at a position: every epoch shows each sample once, in an order of its own."""
    epoch, place = divmod(position, num_samples)
    return _permutation(seed, num_samples, epoch)[place]


def augmentation_seed(seed: int, position: int) -> int:
    """Seed, 0 to 2^32 - 1, of the variation of the sample at a position."""
    return _derive(seed, _AUGMENT, position)


def seed_step(seed: int, step: int) -> None:
    """Seed torch's generator for a step: a workload may draw random numbers in model or loss."""
    torch.manual_seed(_derive(seed, _STEP, step))


def make_batch(
    workload: Workload, samples: Sequence[Sample], job: Job, positions: Sequence[int]
) -> dict[str, Tensor]:
    """Varied samples of the positions, stacked, on the CPU."""
    varied = [
        workload.augment(
            samples[sample_index(job.seed, len(samples), position)],
            augmentation_seed(job.seed, position),
        )
        for position in positions
    ]
    return {name: torch.stack([sample[name] for sample in varied]) for name in varied[0]}


@lru_cache(maxsize=4)
def _permutation(seed: int, num_samples: int, epoch: int) -> tuple[int, ...]:
    generator = np.random.default_rng(_derive(seed, _ORDER, epoch))
    return tuple(int(index) for index in generator.permutation(num_samples))


def _derive(seed: int, *stream: int) -> int:
    # An entropy below 0 is refused: a negative seed is folded.
    return int(np.random.SeedSequence((abs(seed), int(seed < 0), *stream)).generate_state(1)[0])
