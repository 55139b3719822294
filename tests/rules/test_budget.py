"""G's budget rule on jobs whose answer is known by hand."""

import dataclasses

import pytest

from stages.contract import BudgetVerdict, Figure, Stage, known, unknown
from stages.rules.budget import GIB, Demand, judge_budget

ORDINARY = Demand(
    fits_memory=True,
    memory_bytes=known(2 * GIB),
    memory_budget_bytes=16 * GIB,
    remedy=None,
    job_hours=known(0.5, 0.4, 0.6),
    budget_hours=1.0,
    job_cost=known(0.2, 0.16, 0.24),
    budget_cost=20.0,
    currency="EUR",
)


@pytest.mark.parametrize(
    ("changes", "verdict", "next_stage", "said"),
    [
        ({}, BudgetVerdict.within, Stage.train_single, "0.5 h of 1 h"),
        (
            {"remedy": "gradient accumulation"},
            BudgetVerdict.within_with_remedy,
            Stage.train_single,
            "With gradient accumulation",
        ),
        ({"job_hours": known(1.0)}, BudgetVerdict.within, Stage.train_single, "1 h of 1 h"),
        ({"job_hours": known(3, 2, 4)}, BudgetVerdict.over, Stage.probe_scaling, "takes 3 h"),
        ({"job_hours": known(1.0001)}, BudgetVerdict.over, Stage.probe_scaling, "takes 1 h"),
        (
            {"job_hours": known(1.1, 0.9, 1.3)},
            BudgetVerdict.unknown,
            Stage.train_single,
            "lies in between",
        ),
        ({"job_cost": known(21)}, BudgetVerdict.over, Stage.probe_scaling, "costs 21 EUR"),
        (
            {"fits_memory": False, "memory_bytes": known(17 * GIB)},
            BudgetVerdict.over,
            Stage.probe_scaling,
            "takes 17 GiB, the device has 16 GiB",
        ),
        (
            {"fits_memory": False, "job_hours": unknown("nothing was run")},
            BudgetVerdict.over,
            Stage.probe_scaling,
            "smallest micro batch",
        ),
        (
            {"fits_memory": None, "memory_bytes": unknown("the probe was killed")},
            BudgetVerdict.unknown,
            Stage.train_single,
            "the probe was killed",
        ),
        (
            {
                "fits_memory": None,
                "memory_bytes": unknown("no fake tensors"),
                "job_hours": known(9),
            },
            BudgetVerdict.over,
            Stage.probe_scaling,
            "takes 9 h",
        ),
        (
            {"job_hours": unknown("the step crashed")},
            BudgetVerdict.unknown,
            Stage.train_single,
            "the step crashed",
        ),
    ],
)
def test_judges_as_a_person_would(
    changes: dict[str, Figure], verdict: BudgetVerdict, next_stage: Stage, said: str
) -> None:
    """Each job gets its verdict, its way on, and the figure that decided."""
    judgement = judge_budget(dataclasses.replace(ORDINARY, **changes))
    assert (judgement.verdict, judgement.next) == (verdict, next_stage)
    assert said in judgement.reason


def test_unknown_says_that_it_goes_the_cheaper_way() -> None:
    """A person reads that nobody could tell, not that the job is within its budget."""
    judgement = judge_budget(dataclasses.replace(ORDINARY, job_cost=unknown("no price")))
    assert "Cannot tell yet" in judgement.reason
    assert "cheaper way" in judgement.reason
