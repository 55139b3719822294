"""What memory alone would need: reading and writing at full speed, in the same run."""

from collections.abc import Callable, Sequence

import torch

from kernels.benchmark.results import Bandwidth
from kernels.benchmark.stopwatch import take_sample
from kernels.benchmark.threads import use_threads

BUFFER_BYTES = 256 * 2**20
"""Well beyond the caches."""
NUM_SAMPLES = 7


def measure_bandwidth(thread_counts: Sequence[int]) -> Bandwidth:
    """Best of several passes over a large buffer that has been touched before.

    Reading is a sum of float32, which vectors do faster than memory delivers; writing is a fill
    with zeros; both together is the copy of bytes into int32, the traffic of labelling.
    """
    labels = torch.zeros(BUFFER_BYTES // 4, dtype=torch.int32)
    numbers = torch.zeros(BUFFER_BYTES // 4)
    mask = torch.zeros(BUFFER_BYTES // 4, dtype=torch.uint8)
    read, written, both = {}, {}, {}
    for count in thread_counts:
        use_threads(count)
        read[str(count)] = _least_ns(numbers.sum) / BUFFER_BYTES
        written[str(count)] = _least_ns(labels.zero_) / BUFFER_BYTES
        both[str(count)] = _least_ns(lambda: labels.copy_(mask)) / mask.numel()
    return Bandwidth(read, written, both)


def _least_ns(call: Callable[[], object]) -> float:
    samples = [take_sample(call) for _ in range(NUM_SAMPLES)]
    if torch.get_num_threads() == 1:
        return min(sample.cpu_ms for sample in samples) * 1e6
    return min(sample.wall_ms for sample in samples) * 1e6
