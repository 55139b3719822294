"""Comparing with the truth, and checking an implementation against an operator's cases."""

import math
from pathlib import Path

import pytest
import torch

from kernels.folder import open_operator
from kernels.operator import Tolerance
from stages.numerics.comparison import are_same_bits, compare
from stages.numerics.correctness import (
    Truth,
    check_correctness,
    find_right_implementation,
    find_truths,
)
from stages.numerics.exporting import check_export

EXACT = Tolerance(0.0, 0.0, "integers")
LOOSE = Tolerance(0.0, 1e-3, "for the test")
INF = math.inf


@pytest.mark.parametrize(
    ("result", "truth", "tolerance", "is_within", "largest"),
    [
        ([1.0, 2.0], [1.0, 2.0], EXACT, True, 0.0),
        ([1.0, 2.5], [1.0, 2.0], EXACT, False, 0.25),
        ([1.0, 2000.5], [1.0, 2000.0], LOOSE, True, 0.5 / 2000),
        ([INF, -INF], [INF, -INF], EXACT, True, 0.0),
        ([INF, 0.0], [1.0, 0.0], LOOSE, False, INF),
        ([1.0, 0.0], [INF, 0.0], LOOSE, False, INF),
        ([math.nan], [math.nan], EXACT, True, 0.0),
        ([math.nan], [0.0], LOOSE, False, INF),
        ([], [], EXACT, True, 0.0),
    ],
)
def test_compare(
    result: list[float], truth: list[float], tolerance: Tolerance, is_within: bool, largest: float
) -> None:
    """Equal infinities and NaNs agree; all else is measured against the tolerance."""
    found = compare(torch.tensor(result), torch.tensor(truth), tolerance)
    assert found.is_within is is_within
    assert found.largest == pytest.approx(largest)
    assert bool(found.detail) is not is_within


def test_compare_refuses_other_shapes_and_counts() -> None:
    """A result that would broadcast is wrong, and so is one tensor too few."""
    assert "shape (1,)" in compare(torch.ones(1), torch.ones(3), LOOSE).detail
    assert "1 results instead of 2" in compare(torch.ones(1), (torch.ones(1),) * 2, LOOSE).detail


def test_same_bits_tell_minus_zero_from_zero() -> None:
    """Bits, not values: -0 is another result than 0, and NaN is the same as itself."""
    assert are_same_bits(torch.tensor([math.nan]), torch.tensor([math.nan]))
    assert not are_same_bits(torch.tensor([0.0]), torch.tensor([-0.0]))
    assert not are_same_bits(torch.tensor([0]), torch.tensor([0.0]))


def test_wrong_implementation_names_its_smallest_case(root: Path) -> None:
    """Cases go from small to large; the first failure is the finding; a right one passes all."""
    operator = open_operator(root / "tests" / "doors" / "neighbour_count")
    truths = find_truths(operator, 60.0)
    assert [truth.name for truth in truths] == ["row", "all foreground", "square"]
    right = check_correctness(operator.compositions[0].call, operator, truths, "cpu", 60.0)
    assert (right.is_right, right.detail) == (True, "right on all 3 cases")
    wrong = check_correctness(
        lambda mask: operator.compositions[0].call(mask) * (mask.shape[-1] > 5),
        operator,
        truths,
        "cpu",
        60.0,
    )
    assert wrong.is_right is False
    assert "case all foreground" in wrong.detail
    raising = check_correctness(lambda mask: mask.no_such, operator, truths, "cpu", 60.0)
    assert raising.is_right is False
    assert "AttributeError" in raising.detail
    found = find_right_implementation(operator, truths, "cpu")
    assert found is operator.compositions[0].call


def test_cases_with_options_are_left_out_where_they_are_not_taken(root: Path) -> None:
    """What serves the plain cases is right, though another case asks for an option."""
    operator = open_operator(root / "tests" / "doors" / "neighbour_count")
    truths = find_truths(operator, 60.0)
    asking = Truth("with option", (truths[0].inputs[0], {"wrap": True}), truths[0].result)
    call = operator.compositions[0].call
    right = check_correctness(call, operator, (*truths, asking), "cpu", 60.0)
    assert (right.is_right, right.detail) == (True, "right on all 3 cases")
    unserved = check_correctness(call, operator, (asking,), "cpu", 60.0)
    assert (unserved.is_right, unserved.detail) == (None, "no cases")


def test_export_refuses_what_leaves_torch_and_what_bakes_a_result_in() -> None:
    """A NumPy round trip does not export; a composition does; a constant is caught on other
    inputs."""
    inputs = ((torch.arange(6.0),), {})
    assert check_export(lambda x: x.cumsum(0), inputs, EXACT).passed
    round_trip = check_export(lambda x: torch.from_numpy(x.numpy() + 1), inputs, EXACT)
    assert not round_trip.passed
    assert "numpy" in str(round_trip.reason)
    memory: list[torch.Tensor] = []

    def remember(x: torch.Tensor) -> torch.Tensor:
        if torch.compiler.is_compiling():
            return torch.arange(6.0) + 0 * x
        memory.append(x)
        return x + 0

    baked = check_export(remember, inputs, EXACT)
    assert not baked.passed
    assert "differs after reload" in str(baked.reason)
