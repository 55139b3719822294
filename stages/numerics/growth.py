"""How the error grows with size: a small case must not bless a fault that grows."""

import math
from collections.abc import Sequence

from stages.contract import ErrorAtSize, Figure, known, unknown

LEAST_SIZES = 3


def error_slope(errors: Sequence[ErrorAtSize]) -> Figure:
    """Exponent with which the error grows with the number of elements, by least squares.

    0 where it does not grow, 0.5 for sums of rounded terms in random order, 1 for a running sum.
    """
    pairs = [(math.log(at.num_elements), math.log(at.error)) for at in errors if at.error > 0]
    if len(pairs) < LEAST_SIZES:
        return unknown(f"fewer than {LEAST_SIZES} sizes have an error above 0")
    mean_x = sum(x for x, _ in pairs) / len(pairs)
    mean_y = sum(y for _, y in pairs) / len(pairs)
    spread = sum((x - mean_x) ** 2 for x, _ in pairs)
    if not spread:
        return unknown("all sizes are the same")
    return known(sum((x - mean_x) * (y - mean_y) for x, y in pairs) / spread)


def envelope_share(errors: Sequence[ErrorAtSize]) -> Figure:
    """Largest error as a share of the standard form's own on the same call."""
    if not errors:
        return unknown("no standard form that makes rounding errors is there to compare with")
    return known(max(at.error / at.envelope for at in errors))
