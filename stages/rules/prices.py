"""What the rules weigh: the owners' prices, and the prospect that was measured and forecast."""

from dataclasses import dataclass

from stages.contract import Figure, Settings
from stages.rules.gain import ThreePoint


@dataclass(frozen=True)
class Prices:
    """What the parameters say about cost and worth."""

    currency: str
    are_examples: bool
    horizon_months: int
    day_rate: float
    build_days: tuple[float, float, float]
    """Low, likely, high."""
    upkeep_days_per_year: float
    """Maintenance, framework upgrades and revalidation."""
    cases_per_year: float
    """Runs of the whole a year that a saved second counts in; 0 where that is not known."""
    device_price_per_hour: float
    value_per_month: float | None
    """Worth of meeting the target that would otherwise be missed; None where nobody has valued
    it."""


@dataclass(frozen=True)
class Prospect:
    """What is measured and forecast about the whole, in ms a run."""

    baseline_ms: Figure
    """With the best standard implementation, as compared with the target."""
    rest_ms: float
    """Without the operator, as compared with the target."""
    kernel_ms: ThreePoint
    target_ms: float | None


def prices_from(settings: Settings, value_per_month: float | None, runs_per_year: float) -> Prices:
    """Gather the prices from their owners' sections."""
    product, algorithm = settings.product, settings.algorithm
    return Prices(
        currency=product.currency,
        are_examples=product.economics_are_examples,
        horizon_months=product.horizon_months,
        day_rate=product.day_rate,
        build_days=algorithm.build_days,
        upkeep_days_per_year=algorithm.maintenance_days_per_year
        + algorithm.upgrades_per_year * algorithm.days_per_upgrade
        + algorithm.revalidation_days_per_year,
        cases_per_year=runs_per_year,
        device_price_per_hour=settings.infrastructure.device_price_per_hour,
        value_per_month=value_per_month,
    )
