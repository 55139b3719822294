"""The ring model on networks whose times are known by hand."""

import pytest

from stages.rules.ring import (
    Link,
    StepProfile,
    allreduce_us,
    fit_link,
    forecast_step_ms,
    link_of,
)

SIZES = (4, 4096, 65536, 1 << 20, 16 << 20)


def test_fit_finds_the_planted_link() -> None:
    """Times made from alpha and beta give alpha and beta back."""
    link = fit_link(SIZES, [150 + 0.002 * size for size in SIZES])
    assert link.latency_us == pytest.approx(150)
    assert link.us_per_byte == pytest.approx(0.002)
    assert link.bandwidth_mbit_s == pytest.approx(4000)


def test_fit_never_gives_a_negative_latency() -> None:
    """Times that bend below a straight line give alpha 0, not a message that arrives early."""
    link = fit_link((1000, 2000, 4000), [1.0, 3.0, 7.0])
    assert link.latency_us == 0
    assert link.us_per_byte > 0


def test_fit_never_gives_an_infinite_bandwidth() -> None:
    """Noise that makes large messages look faster still bounds what a byte costs."""
    assert fit_link((4, 1000), [50.0, 40.0]).us_per_byte == pytest.approx(0.04)


@pytest.mark.parametrize(
    ("sizes", "times"), [((4,), (1.0,)), ((4, 4), (1.0, 2.0)), ((4, 8), (0.0, 1.0))]
)
def test_fit_refuses_what_has_no_slope(sizes: tuple[int, ...], times: tuple[float, ...]) -> None:
    """One size, or a time of zero, is no measurement of a link."""
    with pytest.raises(ValueError, match="at least two sizes"):
        fit_link(sizes, times)


@pytest.mark.parametrize(
    ("num_workers", "expected_us"),
    [(1, 0.0), (2, 110.0), (4, 300 + 1.5 * 10), (8, 700 + 1.75 * 10)],
)
def test_ring_costs(num_workers: int, expected_us: float) -> None:
    """N - 1 latencies and 2 (N - 1) / N of the bytes."""
    assert allreduce_us(1000, num_workers, Link(100, 0.01)) == pytest.approx(expected_us)


def test_stated_network_adds_its_latency_to_the_software() -> None:
    """Two messages an all-reduce, and 1000 Mbit/s are 0.008 us a byte."""
    assert link_of(1000, 200, software_us=50) == Link(450, 0.008)


@pytest.mark.parametrize(
    ("bucket_bytes", "bucket_ready", "expected_ms"),
    [
        ((1_000_000,), (1.0,), 100 + 8 + 5),  # ready at the end: all of it is exposed
        ((1_000_000,), (0.5,), 100 + 5),  # ready half way: hidden behind backward
        ((10_000_000, 1_000_000), (0.5, 0.6), 50 + 80 + 8 + 5),  # the second waits for the first
    ],
)
def test_only_what_outlasts_backward_is_exposed(
    bucket_bytes: tuple[int, ...], bucket_ready: tuple[float, ...], expected_ms: float
) -> None:
    """A bucket starts when it is ready and the link is free; 1000 Mbit/s carry 1 MB in 8 ms."""
    profile = StepProfile(100, 5, bucket_bytes, bucket_ready)
    assert forecast_step_ms(profile, 2, Link(0, 0.008)) == pytest.approx(expected_ms)


def test_one_worker_neither_talks_nor_waits_for_the_network() -> None:
    """A step of one worker is compute and optimizer."""
    assert forecast_step_ms(StepProfile(100, 5, (1000,), (1.0,)), 1, Link(1e9, 1)) == 105
