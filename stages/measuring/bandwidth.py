"""Memory bandwidth of this device as a copy sees it: the slope of the roofline."""

import torch

from stages.contract import Figure, known
from stages.measuring.timing import time_interleaved

BUFFER_BYTES = 96 * 2**20
"""Read and written once a copy; together well beyond the caches of common processors."""
NUM_COPIES = 9


def measure_bandwidth(device: str) -> Figure:
    """Bytes per second, read and written ones together, of copying one large buffer to another."""
    source = torch.randint(0, 255, (BUFFER_BYTES,), dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    timing = time_interleaved({"copy": lambda: target.copy_(source)}, NUM_COPIES, device)["copy"]
    figure = timing.as_figure()
    assert figure.low is not None  # nine samples have an interval
    assert figure.high is not None
    traffic = 2 * BUFFER_BYTES * 1e3
    return known(
        traffic / timing.median_ms, traffic / figure.high, traffic / figure.low, figure.num_samples
    )
