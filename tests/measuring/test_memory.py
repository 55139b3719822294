"""Peak memory, bandwidth and the time limit, on work of known size."""

import contextlib
import time
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn

from stages.contract import DataShape
from stages.measuring.attempts import attempt
from stages.measuring.bandwidth import measure_bandwidth
from stages.measuring.capture import Call
from stages.measuring.contention import Contention
from stages.measuring.inference_graph import TruthBiased
from stages.measuring.memory import peak_in_child, peak_resident_bytes
from stages.measuring.time_limit import TookTooLong, within

SIZE = 200 * 2**20


def touch_pages() -> object:
    """Make SIZE bytes resident and let go of them."""
    return np.ones(SIZE, np.uint8).sum()


def make_work() -> Callable[[], object]:
    """What the child measures."""
    return touch_pages


def test_peak_counts_what_was_let_go() -> None:
    """The peak holds an array that is gone when the work returns."""
    peak = peak_resident_bytes(touch_pages)
    if peak.value is None:
        pytest.skip(peak.reason or "")
    assert 0.9 * SIZE < peak.value < 2 * SIZE


def test_peak_in_a_child() -> None:
    """A spawned process measures its own work."""
    peak = peak_in_child(make_work, "cpu", 120.0)
    if peak.value is None:
        pytest.skip(peak.reason or "")
    assert 0.9 * SIZE < peak.value < 2 * SIZE


def test_bandwidth_is_that_of_a_memory() -> None:
    """Between 0.1 GB/s and 10 TB/s, with its interval around it."""
    figure = measure_bandwidth("cpu")
    assert figure.value is not None
    assert figure.low is not None
    assert figure.high is not None
    assert 1e8 < figure.low <= figure.value <= figure.high < 1e13


def test_time_limit_ends_a_loop_and_leaves_no_timer() -> None:
    """A Python loop is ended; an `except Exception` along the way does not hold it up."""

    def never_ends() -> None:
        while True:
            with contextlib.suppress(Exception):
                time.sleep(0.01)

    with pytest.raises(TookTooLong, match=r"longer than 0\.05 s"), within(0.05):
        never_ends()
    with within(5):
        pass
    time.sleep(0.06)


def test_attempt_turns_failures_into_findings() -> None:
    """What an implementation raises is told, not raised."""
    call = Call((torch.ones(2),), {}, torch.ones(2), None)

    def broken(x: torch.Tensor) -> torch.Tensor:
        raise RuntimeError("no\nmemory")

    tried = attempt([broken], [call])
    assert (tried.run, tried.failure) == (None, "RuntimeError: no memory")
    right = attempt([lambda x: x + 1], [call])
    assert right.failure is None
    assert torch.equal(right.results[0], torch.full((2,), 2.0))


def test_biased_network_says_the_truth() -> None:
    """Every foreground voxel of the truth shows in the mask, whatever the network says."""
    shape = DataShape(1, 3, (8, 8), (1.0, 1.0), (4, 4), "pad", 4)
    label = torch.zeros(8, 8, dtype=torch.int64)
    label[0, 0], label[5, 6] = 1, 2
    torch.manual_seed(0)
    biased = TruthBiased(nn.Conv2d(1, 3, 3, padding=1), label, shape)
    mask = biased(torch.rand(1, 1, 4, 4)).argmax(1)[0]
    expected = torch.zeros(4, 4, dtype=torch.int64)
    expected[0, 0], expected[2, 3] = 1, 2
    assert torch.equal(mask, expected)


def test_contention_is_a_share_of_the_time() -> None:
    """Between nothing and everything; unknown before it was measured."""
    contention = Contention()
    assert not contention.waiting.is_known
    with contention:
        sum(range(1_000_000))
    if contention.waiting.value is None:
        pytest.skip(contention.waiting.reason or "")
    assert 0 <= contention.waiting.value < 1
