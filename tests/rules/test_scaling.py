"""G's scaling rule on jobs whose answer is known by hand."""

import pytest

from stages.contract import Figure, ScalingPoint, ScalingVerdict, Stage, known, unknown
from stages.rules.scaling import HERE, NETWORK, ScalingBudget, judge_scaling

BUDGET = ScalingBudget(hours=1.0, cost=20.0, currency="EUR", cluster_fixed_cost=3000)


def point(
    num_workers: int, speedup: Figure, where: str = HERE, hours: float = 2.0, price: float = 1.0
) -> ScalingPoint:
    """A job of `hours` on one worker at a price per worker and hour."""
    value = speedup.value
    job = unknown("no speed-up") if value is None else known(hours / value)
    return ScalingPoint(
        num_workers=num_workers,
        where=where,
        is_measured=num_workers == 2 and where == HERE,
        step_time_ms=unknown("not needed here"),
        speedup=speedup,
        efficiency=unknown("not needed here") if value is None else known(value / num_workers),
        job_hours=job,
        job_cost=job if job.value is None else known(job.value * price * num_workers),
    )


ONE = point(1, known(1.0))


@pytest.mark.parametrize(
    ("points", "verdict", "num_workers", "said"),
    [
        (
            [ONE, point(2, known(1.9, 1.8, 2.0), hours=9), point(4, known(3.6), hours=9)],
            "refuse",
            1,
            "4 workers reach a speed-up of 3.60 (forecast), yet the job stays over budget",
        ),
        (
            [ONE, point(2, known(1.9), hours=1.8), point(4, known(3.6), hours=1.8)],
            "distribute",
            2,
            "2 workers reach a speed-up of 1.90 (measured)",
        ),
        (
            [ONE, point(2, known(1.5), hours=1.8), point(4, known(2.8), hours=1.8)],
            "distribute",
            4,
            "4 workers reach a speed-up of 2.80 (forecast)",
        ),
        ([ONE, point(2, known(0.6), hours=1.1)], "refuse", 1, "slower"),
        ([ONE, point(2, known(1.1), hours=1.05)], "inconclusive", 1, "too close to 1"),
        ([ONE, point(2, known(0.9), hours=1.05)], "inconclusive", 1, "too close to 1"),
        ([ONE, point(2, known(1.4, 0.8, 2.0), hours=1.2)], "inconclusive", 1, "too close"),
        ([ONE, point(2, known(2.0), price=11)], "refuse", 1, "2 workers reach"),
        ([ONE, point(2, known(3.1, 2.9, 3.3))], "inconclusive", 1, "more than there is to gain"),
        ([ONE, point(2, unknown("a rank was killed"))], "inconclusive", 1, "Cannot tell"),
        (
            [ONE, point(2, known(0.6)), point(4, known(3.5), NETWORK)],
            "refuse",
            1,
            "takes a cluster, 3000 EUR",
        ),
        (
            [ONE, point(2, known(0.6)), point(4, known(0.04), NETWORK)],
            "refuse",
            1,
            "On the stated network the most is 0.04",
        ),
    ],
)
def test_judges_as_a_person_would(
    points: list[ScalingPoint], verdict: str, num_workers: int, said: str
) -> None:
    """Each job gets its verdict, its number of workers and the figure that decided."""
    judgement = judge_scaling(points, BUDGET)
    assert judgement.verdict == ScalingVerdict(verdict)
    assert judgement.num_workers == num_workers
    assert said in judgement.reason
    goes_on = verdict == "distribute"
    assert judgement.next == (Stage.train_distributed if goes_on else Stage.train_single)
