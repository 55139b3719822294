"""Runs of the benchmark that were never made, for tests of what becomes of one."""

from dataclasses import replace

from kernels.benchmark.interval import Estimate
from kernels.benchmark.results import Bandwidth, ColdBuild, Report, Row, SceneResult, Times

SIDE = 256


def row(entrant: str, ns: float, ratio: float | None = None, **others: object) -> Row:
    """A row of one thread; `ratio` is how many times as long as ours it takes."""
    figures = Times(ns, ns, ns, ns)
    ratios = {}
    if ratio is not None:
        estimate = Estimate(ratio, ratio * 0.98, ratio * 1.02)
        ratios = {"out=@1": estimate, "allocating@1": estimate}
    made = Row(
        entrant=entrant,
        role="library",
        form="eager",
        output="allocating",
        num_threads=1,
        status="timed",
        num_samples=9,
        cpu_ms=figures,
        wall_ms=figures,
        ns_per_voxel=ns,
        ratios=ratios,
    )
    return replace(made, **others)  # type: ignore[arg-type]


def scene(*rows: Row, **others: object) -> SceneResult:
    """A scene of sparse lesions in 256³, 26 neighbours."""
    made = SceneResult(
        operator="connected_components",
        variant="26 neighbours",
        content="sparse",
        shape=(SIDE, SIDE, SIDE),
        rows=rows,
        second_thread_gain={"out=": Estimate(1.8, 1.75, 1.85)},
        by_others=0.01,
    )
    return replace(made, **others)  # type: ignore[arg-type]


def report(*scenes: SceneResult) -> Report:
    """A run of these scenes."""
    return Report(
        command="python -m kernels.benchmark",
        date="2026-12-01T00:00:00+00:00",
        is_quick=False,
        duration_s=1.5,
        machine={"processor": "Test", "cores": "2"},
        versions={"python": "3.11", "torch": "2.13.0", "edt": "absent"},
        bandwidth=Bandwidth({"1": 0.03}, {"1": 0.03}, {"1": 0.14}),
        builds=(ColdBuild("connected_components", 4.0, (), "g++ 12"),),
        scenes=scenes,
    )
