"""G: the job's memory, hours and cost against the budgets."""

from dataclasses import dataclass

from stages.contract import BudgetVerdict, Figure, Stage

GIB = 2**30


@dataclass(frozen=True)
class Demand:
    """What the job takes, and what it may take."""

    fits_memory: bool | None
    """Whether some micro batch stays within the memory budget; None where nobody could tell."""
    memory_bytes: Figure
    memory_budget_bytes: int
    remedy: str | None
    """What it takes to stay within the memory budget; None when nothing has to be done."""
    job_hours: Figure
    budget_hours: float
    job_cost: Figure
    budget_cost: float
    currency: str


@dataclass(frozen=True)
class BudgetJudgement:
    """A verdict, where it leads, and the figure that decided."""

    verdict: BudgetVerdict
    next: Stage
    reason: str


def judge_budget(demand: Demand) -> BudgetJudgement:
    """Judge one job; a budget that is met exactly is met.

    Memory comes first: a job that does not fit is over whatever its hours. Hours and cost are over
    when the whole interval lies above the budget. When it straddles the budget, or a figure is
    missing, the verdict is unknown and the cheaper way, one machine, is taken.
    """
    if demand.fits_memory is False:
        return _over(
            f"the smallest micro batch takes {_gib(demand.memory_bytes)}, the device has "
            f"{demand.memory_budget_bytes / GIB:.3g} GiB"
        )
    limits = (
        ("the job takes", demand.job_hours, demand.budget_hours, "h"),
        ("the job costs", demand.job_cost, demand.budget_cost, demand.currency),
    )
    for what, figure, budget, unit in limits:
        if _is_above(figure, budget):
            return _over(f"{what} {figure.value:.3g} {unit}, the budget is {budget:.3g} {unit}")
    if demand.fits_memory is None:
        return _unknown(f"peak memory: {demand.memory_bytes.reason or 'it could not be judged'}")
    for what, figure, budget, unit in limits:
        if figure.value is None:
            return _unknown(f"{what} an unknown number of {unit}: {figure.reason}")
        if _upper(figure) > budget:
            return _unknown(
                f"{what} {figure.value:.3g} {unit} ({_lower(figure):.3g} to "
                f"{_upper(figure):.3g}), and the budget of {budget:.3g} {unit} lies in between"
            )
    figures = (
        f"peak memory {_gib(demand.memory_bytes)} of {demand.memory_budget_bytes / GIB:.3g} GiB, "
        f"{demand.job_hours.value:.3g} h of {demand.budget_hours:.3g} h, "
        f"{demand.job_cost.value:.3g} of {demand.budget_cost:.3g} {demand.currency}"
    )
    if demand.remedy is not None:
        verdict, reason = BudgetVerdict.within_with_remedy, f"With {demand.remedy}: {figures}."
    else:
        verdict, reason = BudgetVerdict.within, f"Within every budget: {figures}."
    return BudgetJudgement(verdict, Stage.train_single, reason)


def _over(why: str) -> BudgetJudgement:
    return BudgetJudgement(BudgetVerdict.over, Stage.probe_scaling, f"Over budget: {why}.")


def _unknown(why: str) -> BudgetJudgement:
    reason = f"Cannot tell yet: {why}. Unknown goes the cheaper way, one machine."
    return BudgetJudgement(BudgetVerdict.unknown, Stage.train_single, reason)


def _is_above(figure: Figure, budget: float) -> bool:
    return figure.value is not None and _lower(figure) > budget


def _lower(figure: Figure) -> float:
    assert figure.value is not None
    return figure.value if figure.low is None else figure.low


def _upper(figure: Figure) -> float:
    assert figure.value is not None
    return figure.value if figure.high is None else figure.high


def _gib(figure: Figure) -> str:
    return "an unknown amount" if figure.value is None else f"{figure.value / GIB:.3g} GiB"
