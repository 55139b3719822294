"""Targets of the product against what the model reached."""

from collections.abc import Mapping, Sequence

from stages.contract import Figure, ModelVerdict, Settings, Target, known, unknown
from stages.reporting.wording import GIB, number, say


def hold_against(
    settings: Settings,
    accuracy: Mapping[str, Figure],
    latency_p95_ms: Figure,
    peak_memory_bytes: Figure,
    waiting: float,
) -> tuple[Target, ...]:
    """What was reached, against the targets of product and infrastructure.

    `waiting`: share of the timing, 0 to 1, that others may be blamed for.
    """
    product = settings.product
    metric = product.accuracy_metric
    missing = unknown(f"the workload gives no {metric}, or there are no cases to score")
    memory = peak_memory_bytes.times(1 / GIB)
    latency = at_most("latency p95", product.latency_budget_ms, latency_p95_ms, "ms")
    return (
        at_least(metric, product.accuracy_target, accuracy.get(metric, missing)),
        unless_disturbed(latency, waiting),
        at_most("peak memory", settings.infrastructure.device_memory_gib, memory, "GiB"),
    )


def at_least(name: str, wanted: float, reached: Figure, unit: str = "") -> Target:
    """A figure that should be high; reached exactly is met, unknown is neither."""
    return _target(name, wanted, reached, unit, is_better_above=True)


def at_most(name: str, wanted: float, reached: Figure, unit: str) -> Target:
    """A figure that should be low; reached exactly is met, unknown is neither."""
    return _target(name, wanted, reached, unit, is_better_above=False)


def unless_disturbed(target: Target, waiting: float) -> Target:
    """A time that is missed by no more than the share of waiting for others is neither met nor
    missed."""
    alone = (target.reached.value or 0.0) * (1 - waiting)
    if target.is_met is False and alone <= target.wanted:
        return target.model_copy(update={"is_met": None})
    return target


def judge(targets: Sequence[Target]) -> ModelVerdict:
    """Met only if every target is known to be met."""
    is_met = all(target.is_met is True for target in targets)
    return ModelVerdict.met if is_met else ModelVerdict.missed


def tell(targets: Sequence[Target]) -> str:
    """Each target in a few words."""
    marks = {True: "met", False: "missed", None: "not known"}
    parts = [
        f"{target.name} {say(target.reached, target.unit, with_interval=False)} of "
        f"{number(target.wanted)} {target.unit}".rstrip()
        + f" ({marks[target.is_met]})"
        for target in targets
    ]
    return ", ".join(parts)


def _target(name: str, wanted: float, reached: Figure, unit: str, is_better_above: bool) -> Target:
    if reached.value is None:
        is_met, difference = None, unknown(reached.reason or "not measured")
    else:
        is_met = reached.value >= wanted if is_better_above else reached.value <= wanted
        difference = known(reached.value - wanted)
    return Target(
        name=name, wanted=wanted, reached=reached, unit=unit, is_met=is_met, difference=difference
    )
