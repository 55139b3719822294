"""Memory over workers, on needs whose answer is known by hand."""

import pytest

from stages.rules.sharding import MemoryNeed, fewest_workers


@pytest.mark.parametrize(
    ("state", "activations", "device", "max_workers", "expected"),
    [
        (10, 5, 15, 8, 1),  # fits exactly
        (10, 5, 10, 8, 2),
        (10, 5, 9, 8, 3),
        (10, 5, 6, 8, None),  # needs 10
        (10, 5, 6, 10, 10),
        (10, 7, 6, 1000, None),  # activations alone are too large: sharding never helps
    ],
)
def test_fewest_workers(
    state: float, activations: float, device: float, max_workers: int, expected: int | None
) -> None:
    """State is shared out, activations are not."""
    assert fewest_workers(MemoryNeed(state, activations), device, max_workers) == expected
