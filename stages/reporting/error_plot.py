"""Error against size as inline SVG: the operator's, and the standard form's own."""

import math
from collections.abc import Sequence

from stages.contract import ErrorAtSize

WIDTH, HEIGHT = 560, 260
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 20, 45
LEAST_ERROR = 1e-18
"""An error of 0 is drawn at the lower edge."""


def draw_errors(errors: Sequence[ErrorAtSize]) -> str:
    """One `<svg>` element, both axes logarithmic; empty where there is nothing to draw."""
    if len(errors) < 2:
        return ""
    shown = [value for at in errors for value in (at.error, at.envelope) if value > LEAST_ERROR]
    if not shown:
        return ""
    low, high = math.floor(math.log10(min(shown))), math.ceil(math.log10(max(shown)))
    high = max(high, low + 1)
    first, last = errors[0].num_elements, errors[-1].num_elements

    def place(num_elements: int, error: float) -> str:
        across = math.log(num_elements / first) / math.log(last / first)
        height = (math.log10(max(error, 10.0**low)) - low) / (high - low)
        x = LEFT + across * (WIDTH - LEFT - RIGHT)
        y = HEIGHT - BOTTOM - height * (HEIGHT - TOP - BOTTOM)
        return f"{x:.1f},{y:.1f}"

    own = " ".join(place(at.num_elements, at.error) for at in errors)
    envelope = " ".join(place(at.num_elements, at.envelope) for at in errors)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'aria-label="Error of the operator and of the standard form by number of elements" '
        'class="plot">',
        *_grid(low, high),
        f'<polyline points="{envelope}" fill="none" stroke="#9aa5b1" stroke-width="2" '
        'stroke-dasharray="6 4"/>',
        f'<polyline points="{own}" fill="none" stroke="#0f766e" stroke-width="2.5"/>',
        _text(LEFT, HEIGHT - 25, f"{first:,}", "start"),
        _text(WIDTH - RIGHT, HEIGHT - 25, f"{last:,} elements", "end"),
        _text(WIDTH / 2, HEIGHT - 6, "solid: operator; dashed: the standard form's own", "middle"),
    ]
    return "\n".join([*parts, "</svg>"])


def _grid(low: int, high: int) -> list[str]:
    """One line a power of ten, at most eight of them named."""
    lines = []
    step = max((high - low) // 8, 1)
    for power in range(low, high + 1, step):
        y = HEIGHT - BOTTOM - (power - low) / (high - low) * (HEIGHT - TOP - BOTTOM)
        lines.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#dde3ea"/>'
        )
        lines.append(_text(LEFT - 8, y + 4, f"1e{power}", "end"))
    return lines


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="12" '
        f'fill="#5b6673">{words}</text>'
    )
