"""Arithmetic of gains: what speeding up one part does to the whole, and what no kernel can beat."""

from dataclasses import dataclass

from stages.contract import Figure, known, unknown

FLOOR_FACTOR_LOW, FLOOR_FACTOR_LIKELY, FLOOR_FACTOR_HIGH = 3.0, 8.0, 15.0
"""How many times the roofline floor a first honest kernel takes. The roofline counts every byte
once and no arithmetic; prototypes of labelling took about 3 times, of the exact distance
transform about 10 times it (two cores with AVX-512, 182×218×182); a first version, fresh pages
and bad shapes take more."""


@dataclass(frozen=True)
class ThreePoint:
    """A forecast: low, likely, high."""

    low: float
    likely: float
    high: float

    def as_figure(self) -> Figure:
        """The likely value with low and high as its interval."""
        return known(self.likely, self.low, self.high)


def end_to_end_gain(share: float, speedup: float) -> float:
    """Gain of the whole when a part with this share of it runs `speedup` times as fast: Amdahl's
    law.

    Raises:
        ValueError: a share outside 0..1, or a speed-up that is not above 0.
    """
    if not 0 <= share <= 1 or not speedup > 0:
        raise ValueError(f"expected 0 <= share <= 1 and speedup > 0, got {share} and {speedup}")
    left = 1 - share + share / speedup
    return 1 / left if left > 0 else float("inf")


def ceiling(share: Figure) -> Figure:
    """Largest end-to-end gain of any kernel, 1 / (1 - share), with the share's interval."""
    if share.value is None:
        return unknown(f"no share: {share.reason}")
    if share.value >= 1:
        return unknown("the operator is the whole: there is no ceiling")
    low = None if share.low is None else 1 / (1 - share.low)
    high = None if share.high is None or share.high >= 1 else 1 / (1 - share.high)
    return known(1 / (1 - share.value), low, high, share.num_samples)


def roofline_floor_ms(num_voxels: int, bytes_per_voxel: float, bandwidth: Figure) -> Figure:
    """Time to move the least bytes at the measured bandwidth, in ms: no kernel is faster from
    memory."""
    if bandwidth.value is None:
        return unknown(f"no bandwidth: {bandwidth.reason}")
    traffic = num_voxels * bytes_per_voxel * 1e3
    fastest = None if bandwidth.high is None else traffic / bandwidth.high
    slowest = None if bandwidth.low is None else traffic / bandwidth.low
    return known(traffic / bandwidth.value, fastest, slowest, bandwidth.num_samples)


def forecast_kernel_ms(floor_ms: Figure) -> ThreePoint | None:
    """What a kernel would take, from the floor and stated factors; None without a floor."""
    if floor_ms.value is None:
        return None
    factors = (FLOOR_FACTOR_LOW, FLOOR_FACTOR_LIKELY, FLOOR_FACTOR_HIGH)
    return ThreePoint(*(floor_ms.value * factor for factor in factors))


def forecast_gain(baseline_ms: float, rest_ms: float, kernel_ms: ThreePoint) -> ThreePoint:
    """End-to-end gain over the baseline, from the forecast kernel; below 1 where it would be
    slower."""
    return ThreePoint(
        baseline_ms / (rest_ms + kernel_ms.high),
        baseline_ms / (rest_ms + kernel_ms.likely),
        baseline_ms / (rest_ms + kernel_ms.low),
    )
