"""Compositions of standard PyTorch operators, best first; each is exact, whatever the mask."""

from kernels.connected_components.by_hooking import label_by_hooking
from kernels.connected_components.by_pooling import label_by_pooling
from kernels.connected_components.by_runs import label_by_runs
from kernels.operator import Composition

COMPOSITIONS = (
    Composition(
        name="runs",
        call=label_by_runs,
        summary="nonzero, runs along rows, searchsorted of touching runs, hooking and jumping",
    ),
    Composition(
        name="hooking",
        call=label_by_hooking,
        summary="shifted extremum, hooking and pointer jumping on the whole volume",
    ),
    Composition(
        name="pooling",
        call=label_by_pooling,
        summary="masked maximum pool until stable, as commonly published",
    ),
)
