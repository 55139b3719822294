"""What a kernel costs against what it brings over the horizon, in one currency, as distributions.

Seeded and pure: the same figures give the same answer on every machine.
"""

import numpy as np
from numpy.typing import NDArray

from stages.contract import Economics, Figure, known, unknown
from stages.rules.break_even import (
    WORKDAYS_PER_MONTH,
    Outlook,
    break_even_days,
    break_even_value,
)
from stages.rules.prices import Prices, Prospect

NUM_DRAWS = 20_000
"""Standard error of a probability below 0.004: two digits hold."""
PERT_WEIGHT = 4.0
"""Weight of the likely value in the three-point (PERT) estimate of the days, as usual."""
Draws = NDArray[np.float64]


def weigh(prices: Prices, prospect: Prospect, seed: int = 0) -> Economics:
    """Cost, benefit, their ratio and the break-even points of building a kernel.

    Benefit: the value per month of meeting the target, counted only where the baseline misses it
    and to the extent that the forecast meets it, from the end of the build to the horizon; and
    the compute saved. Cost: the build and the upkeep from its end to the horizon.
    """
    rng = np.random.default_rng(seed)
    days = _draw_pert(rng, *prices.build_days)
    kernel_ms = _draw_pert(
        rng, prospect.kernel_ms.low, prospect.kernel_ms.likely, prospect.kernel_ms.high
    )
    baseline_ms = _draw_measured(rng, prospect.baseline_ms)
    with_kernel_ms = prospect.rest_ms + kernel_ms
    months = np.maximum(prices.horizon_months - days / WORKDAYS_PER_MONTH, 0.0)

    price_per_ms = prices.device_price_per_hour / 3600e3
    saved_a_month = (baseline_ms - with_kernel_ms) * price_per_ms * prices.cases_per_year / 12
    upkeep_a_month = prices.upkeep_days_per_year * prices.day_rate / 12
    newly_met = _newly_met(baseline_ms, with_kernel_ms, prospect.target_ms)
    cost = days * prices.day_rate + upkeep_a_month * months
    outlook = Outlook(
        months=float(months.mean()),
        days=float(days.mean()),
        saved_a_month=float(saved_a_month.mean()),
        upkeep_a_month=upkeep_a_month,
        met=float(newly_met.mean()),
    )
    is_at_stake = outlook.met > 0
    if is_at_stake and prices.value_per_month is None:
        return _inverted(prices, outlook, _figure(cost))
    value_a_month = newly_met * (prices.value_per_month or 0.0)
    benefit = (value_a_month + saved_a_month) * months
    return Economics(
        currency=prices.currency,
        are_examples=prices.are_examples,
        horizon_months=prices.horizon_months,
        cost=_figure(cost),
        benefit=_figure(benefit),
        benefit_cost_ratio=_ratio(benefit, cost),
        payback_probability=known(float((benefit > cost).mean()), num_samples=NUM_DRAWS),
        break_even_days=break_even_days(prices, outlook, prices.value_per_month or 0.0),
        break_even_value_per_month=break_even_value(prices, outlook),
        sentence=_say(prices, benefit, cost, outlook),
    )


def unweighed(prices: Prices, reason: str) -> Economics:
    """Economics of a kernel that nobody can forecast, or that nobody needs: all unknown, with
    the reason."""
    nothing = unknown(reason)
    return Economics(
        currency=prices.currency,
        are_examples=prices.are_examples,
        horizon_months=prices.horizon_months,
        cost=nothing,
        benefit=nothing,
        benefit_cost_ratio=nothing,
        payback_probability=nothing,
        break_even_days=nothing,
        break_even_value_per_month=nothing,
        sentence=f"Not weighed: {reason}.",
    )


def _inverted(prices: Prices, outlook: Outlook, cost: Figure) -> Economics:
    """Nobody has valued the target: say what would have to be true instead."""
    not_valued = unknown("nobody has valued meeting this target (product.value_per_month)")
    days = break_even_days(prices, outlook, 0.0)
    value = break_even_value(prices, outlook)
    at_most = "" if days.value is None else f"if built in at most {days.value:.1f} days, or "
    at_least = f"{value.value:,.0f} {prices.currency}" if value.value is not None else "nothing"
    return Economics(
        currency=prices.currency,
        are_examples=prices.are_examples,
        horizon_months=prices.horizon_months,
        cost=cost,
        benefit=not_valued,
        benefit_cost_ratio=not_valued,
        payback_probability=not_valued,
        break_even_days=days,
        break_even_value_per_month=value,
        sentence=f"Pays {at_most}if worth at least {at_least} per month.",
    )


def _say(prices: Prices, benefit: Draws, cost: Draws, outlook: Outlook) -> str:
    examples = " (example prices)" if prices.are_examples else ""
    return (
        f"Over {prices.horizon_months} months the kernel brings {benefit.mean():,.0f} against "
        f"{cost.mean():,.0f} {prices.currency}{examples}; it pays with probability "
        f"{float((benefit > cost).mean()):.2f}, and newly meets the target with {outlook.met:.2f}."
    )


def _newly_met(baseline_ms: Draws, with_kernel_ms: Draws, target_ms: float | None) -> Draws:
    if target_ms is None:
        return np.zeros_like(baseline_ms)
    met: Draws = ((baseline_ms > target_ms) & (with_kernel_ms <= target_ms)).astype(np.float64)
    return met


def _draw_pert(rng: np.random.Generator, low: float, likely: float, high: float) -> Draws:
    """Draw from the PERT (scaled beta) distribution of a three-point estimate."""
    if high == low:
        return np.full(NUM_DRAWS, likely)
    first = 1 + PERT_WEIGHT * (likely - low) / (high - low)
    second = 1 + PERT_WEIGHT * (high - likely) / (high - low)
    drawn: Draws = low + (high - low) * rng.beta(first, second, NUM_DRAWS)
    return drawn


def _draw_measured(rng: np.random.Generator, figure: Figure) -> Draws:
    """Draw from a normal distribution of the measured interval; the value itself without one."""
    assert figure.value is not None  # a prospect has a measured baseline
    if figure.low is None or figure.high is None:
        return np.full(NUM_DRAWS, figure.value)
    drawn: Draws = rng.normal(figure.value, (figure.high - figure.low) / (2 * 1.96), NUM_DRAWS)
    return drawn


def _figure(draws: Draws) -> Figure:
    """Expectation and the middle 95 %; a median would hide a benefit that comes or does not
    come."""
    low, high = np.percentile(draws, [2.5, 97.5])
    return known(float(draws.mean()), float(low), float(high), len(draws))


def _ratio(benefit: Draws, cost: Draws) -> Figure:
    """Expected benefit over expected cost, with the middle 95 % of the ratio."""
    low, high = np.percentile(benefit / cost, [2.5, 97.5])
    return known(float(benefit.mean() / cost.mean()), float(low), float(high), len(cost))
