"""Error against size in the record."""

from stages.contract import ErrorAtSize
from stages.reporting.error_plot import draw_errors


def at(num_elements: int, error: float, envelope: float) -> ErrorAtSize:
    """One point of the plot."""
    return ErrorAtSize(num_elements=num_elements, error=error, envelope=envelope)


def test_plot_has_a_line_for_the_operator_and_one_for_the_standard_form() -> None:
    """Points run from the left edge to the right one, larger errors further up."""
    drawn = draw_errors([at(64, 1e-9, 1e-8), at(512, 1e-8, 1e-7), at(4096, 1e-7, 1e-6)])
    envelope, own = (
        [tuple(map(float, point.split(","))) for point in line.split('"')[0].split()]
        for line in drawn.split('<polyline points="')[1:]
    )
    assert [x for x, _ in own] == [70.0, 305.0, 540.0]
    assert own[0][1] > own[1][1] > own[2][1]
    assert all(upper[1] < lower[1] for upper, lower in zip(envelope, own, strict=True))
    assert "4,096 elements" in drawn


def test_nothing_is_drawn_without_errors() -> None:
    """Exact operators, or fewer than two sizes, have no plot."""
    assert draw_errors([]) == draw_errors([at(64, 1e-9, 1e-8)]) == ""
    assert draw_errors([at(64, 0.0, 0.0), at(128, 0.0, 0.0)]) == ""
