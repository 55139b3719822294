"""The exponent of the error, and its share of the standard form's."""

import pytest

from stages.contract import ErrorAtSize
from stages.numerics.growth import envelope_share, error_slope


def errors(power: float, scale: float = 1e-9) -> tuple[ErrorAtSize, ...]:
    """Errors that grow by a known power; the standard form's are twice as large."""
    return tuple(
        ErrorAtSize(num_elements=n, error=scale * n**power, envelope=2 * scale * n**power)
        for n in (64, 256, 1024, 4096)
    )


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_slope_is_the_power_of_the_growth(power: float) -> None:
    """Least squares on logarithms give back an exact power."""
    assert error_slope(errors(power)).value == pytest.approx(power, abs=1e-12)


def test_exact_results_have_no_slope() -> None:
    """Errors of 0 have no logarithm; the reason is told."""
    assert "fewer than 3 sizes" in (error_slope(errors(0.0, scale=0.0)).reason or "")


def test_share_is_of_the_standard_form_on_the_same_call() -> None:
    """Half of it at every size is a half."""
    assert envelope_share(errors(0.5)).value == pytest.approx(0.5)
    assert not envelope_share(()).is_known
