"""Bootstrap intervals over patients."""

from math import nan

import pytest

from stages.training.intervals import lift_over_patients, mean_over_patients, median_of


def test_equal_values_have_an_interval_without_width() -> None:
    """Nothing varies, whatever is drawn."""
    figure = mean_over_patients([0.5] * 4, ["a", "b", "c", "d"])
    assert (figure.value, figure.low, figure.high, figure.num_samples) == (0.5, 0.5, 0.5, 4)


def test_undefined_cases_are_left_out_and_counted() -> None:
    """The number of samples tells how many there were."""
    figure = mean_over_patients([1.0, nan, 0.0], ["a", "b", "c"])
    assert figure.value == 0.5
    assert figure.num_samples == 2


def test_undefined_everywhere_is_unknown() -> None:
    """Never 0, and never NaN."""
    figure = mean_over_patients([nan, nan], ["a", "b"])
    assert figure.value is None
    assert figure.reason == "undefined on all of 2 cases"


def test_no_case_is_unknown() -> None:
    """An empty split says nothing."""
    assert mean_over_patients([], []).reason == "undefined on all of 0 cases"


def test_cases_of_one_patient_are_drawn_together() -> None:
    """Slices of two patients are two observations: the interval reaches from one to the other."""
    figure = mean_over_patients([0.0] * 50 + [1.0] * 50, ["a"] * 50 + ["b"] * 50)
    assert (figure.low, figure.high) == (0.0, 1.0)


def test_one_patient_has_no_interval() -> None:
    """There is nothing to draw from."""
    figure = mean_over_patients([0.2, 0.4], ["a", "a"])
    assert figure.value == pytest.approx(0.3)
    assert figure.low is None


def test_a_lift_of_one_seed_alone_is_not_certain() -> None:
    """All patients agree, the seeds do not: the interval includes 0."""
    figure = lift_over_patients([[0.1] * 5, [-0.05] * 5], list("abcde"))
    assert figure.low is not None
    assert figure.low < 0 < figure.value  # type: ignore[operator]


def test_the_median_has_an_interval_around_it() -> None:
    """A single slow step moves the mean, not the median."""
    figure = median_of([1.0, 1.1, 0.9, 1.0, 50.0])
    assert figure.value == 1.0
    assert figure.low is not None
    assert figure.low <= 1.0 <= figure.high  # type: ignore[operator]
