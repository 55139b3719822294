"""Compositions of standard PyTorch operators, best in eager mode and exported first; both exact.

Compiled, the blocked reduction wins. Fused and interpreted loops differ: see `kernels/form.py`.
"""

from kernels.distance_transform.by_blocked_reduction import by_blocked_reduction
from kernels.distance_transform.by_outward_search import by_outward_search
from kernels.operator import Composition

COMPOSITIONS = (
    Composition(
        "outward_search",
        by_outward_search,
        "running minimum over offsets, ended by the largest distance left",
    ),
    Composition(
        "blocked_reduction",
        by_blocked_reduction,
        "cummax along the last axis, blocked full minimum along the others",
    ),
)
