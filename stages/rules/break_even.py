"""Break-even points: how long a build may take, or what meeting the target must be worth."""

from dataclasses import dataclass

from stages.contract import Figure, known, unknown
from stages.rules.prices import Prices

WORKDAYS_PER_MONTH = 20.0
"""Turns person-days into lead time: one person builds, and nothing is gained before the end."""


@dataclass(frozen=True)
class Outlook:
    """Means of the draws, for the break-even points, which are solved rather than drawn."""

    months: float
    days: float
    saved_a_month: float
    upkeep_a_month: float
    met: float
    """Probability that the kernel meets a target that the baseline misses."""


def break_even_days(prices: Prices, outlook: Outlook, value_per_month: float) -> Figure:
    """Solve net x (horizon - D / workdays) = D x rate for D."""
    net_a_month = value_per_month * outlook.met + outlook.saved_a_month - outlook.upkeep_a_month
    if net_a_month <= 0:
        return unknown("upkeep alone costs more than it brings: no build is short enough")
    days = net_a_month * prices.horizon_months
    return known(days / (prices.day_rate + net_a_month / WORKDAYS_PER_MONTH))


def break_even_value(prices: Prices, outlook: Outlook) -> Figure:
    """Solve (value x met + saved - upkeep) x months = days x rate for the value."""
    if outlook.met == 0:
        return unknown("no target would newly be met: there is no value to set against the cost")
    if outlook.months == 0:
        return unknown("the build takes longer than the horizon")
    needed = outlook.days * prices.day_rate / outlook.months + outlook.upkeep_a_month
    return known(max(needed - outlook.saved_a_month, 0.0) / outlook.met)
