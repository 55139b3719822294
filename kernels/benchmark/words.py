"""Figures and sizes in words."""

from kernels.benchmark.interval import Estimate

_POWERS = {2: "²", 3: "³"}


def size_of(shape: tuple[int, ...]) -> str:
    """256³ for a cube, 2 × 128³ for a batch of cubes."""
    batch, spatial = (shape[:-3], shape[-3:]) if len(shape) > 3 else ((), shape)
    if len(set(spatial)) == 1 and len(spatial) in _POWERS:
        size = f"{spatial[0]}{_POWERS[len(spatial)]}"
    else:
        size = "×".join(map(str, spatial))
    count = 1
    for length in batch:
        count *= length
    return size if count == 1 else f"{count} × {size}"


def number(value: float) -> str:
    """Three digits, as many as there is any sense in."""
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.3g}" if value >= 1 else f"{value:.2f}"


def times(estimate: Estimate, with_interval: bool = True) -> str:
    """2.51× (2.48–2.55)."""
    text = f"{number(estimate.value)}×"
    if with_interval and estimate.low is not None and estimate.high is not None:
        text += f" ({number(estimate.low)}–{number(estimate.high)})"
    return text


def percent(share: float | None) -> str:
    """A share as whole per cents; a dash where it is not known."""
    return "–" if share is None else f"{share:.0%}"
