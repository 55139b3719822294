"""Arithmetic of gains, by hand."""

import math

import pytest

from stages.contract import known, unknown
from stages.rules.gain import (
    ThreePoint,
    ceiling,
    end_to_end_gain,
    forecast_gain,
    forecast_kernel_ms,
    roofline_floor_ms,
)


@pytest.mark.parametrize(
    ("share", "speedup", "gain"),
    [
        (0.0, 10.0, 1.0),
        (1.0, 4.0, 4.0),
        (0.5, 2.0, 4 / 3),
        (0.5, math.inf, 2.0),
        (0.8, 10.0, 1 / 0.28),
        (0.5, 0.5, 2 / 3),
        (1.0, math.inf, math.inf),
    ],
)
def test_gain_follows_amdahl(share: float, speedup: float, gain: float) -> None:
    """1 / (1 - f + f / s), its limits included."""
    assert end_to_end_gain(share, speedup) == pytest.approx(gain)


@pytest.mark.parametrize(("share", "speedup"), [(-0.1, 2.0), (1.1, 2.0), (0.5, 0.0)])
def test_gain_refuses_what_is_no_share(share: float, speedup: float) -> None:
    """A share outside 0..1 or a speed-up of 0 is a mistake of the caller."""
    with pytest.raises(ValueError, match="expected 0 <= share <= 1"):
        end_to_end_gain(share, speedup)


def test_ceiling_keeps_the_interval_and_the_unknown() -> None:
    """The ceiling rises with the share; without a share there is none, and so for the whole."""
    figure = ceiling(known(0.5, 0.2, 0.75, 9))
    assert (figure.value, figure.low, figure.high) == pytest.approx((2.0, 1.25, 4.0))
    assert ceiling(unknown("not timed")).reason == "no share: not timed"
    assert not ceiling(known(1.0)).is_known


def test_floor_is_traffic_over_bandwidth() -> None:
    """A million voxels of 5 bytes at 10 GB/s take half a millisecond; a faster memory, less."""
    floor = roofline_floor_ms(1_000_000, 5.0, known(10e9, 5e9, 20e9))
    assert (floor.value, floor.low, floor.high) == pytest.approx((0.5, 0.25, 1.0))


def test_forecast_is_a_multiple_of_the_floor() -> None:
    """The likely kernel is several times the floor, within its own range; no floor, no forecast."""
    kernel = forecast_kernel_ms(known(1.0))
    assert kernel is not None
    assert 1 < kernel.low < kernel.likely < kernel.high
    assert forecast_kernel_ms(unknown("no bandwidth")) is None


def test_forecast_gain_is_lowest_for_the_slowest_kernel() -> None:
    """Low, likely and high gain come from the slow, likely and fast kernel."""
    gain = forecast_gain(300.0, 100.0, ThreePoint(0.0, 50.0, 200.0))
    assert (gain.low, gain.likely, gain.high) == pytest.approx((1.0, 2.0, 3.0))
