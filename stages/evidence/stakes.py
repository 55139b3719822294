"""What the product asks of the job in one context, and what meeting that is worth."""

from dataclasses import dataclass

from stages.contract import Figure, Settings, known
from stages.rules.prices import Prices, prices_from
from stages.rules.support import Context


@dataclass(frozen=True)
class Stakes:
    """Target and prices of one run: of one case, or of one training step."""

    target_ms: Figure
    prices: Prices


def find_stakes(context: Context, settings: Settings) -> Stakes:
    """From the owners' sections of the parameters."""
    product = settings.product
    if context == "inference_graph":
        prices = prices_from(settings, product.value_per_month.latency, product.cases_per_year)
        return Stakes(known(product.latency_budget_ms), prices)
    budget_ms = product.training_hours_budget * 3600e3
    # No runs a year: nobody states how often the job is trained.
    prices = prices_from(settings, product.value_per_month.training_time, 0)
    return Stakes(known(budget_ms / settings.training.num_steps), prices)
