"""Who is the fastest that gives the right result?"""

from kernels.benchmark.results import Row, SceneResult


def fastest_peer(scene: SceneResult, num_threads: int, our_output: str) -> Row | None:
    """The library or composition with the smallest ratio to ours; None where none was right.

    Compared with ours on `num_threads`; peers that have one thread alone take part all the same.
    """
    key = f"{our_output}@{num_threads}"
    rows = [
        row
        for row in scene.rows
        if row.role in ("library", "composition") and row.status == "timed" and key in row.ratios
    ]
    return min(rows, key=lambda row: row.ratios[key].value, default=None)


def our_row(scene: SceneResult, num_threads: int, output: str) -> Row | None:
    """Our own row, where it was timed."""
    rows = (
        row
        for row in scene.rows
        if row.role == "ours"
        and row.output == output
        and row.num_threads == num_threads
        and row.ns_per_voxel is not None
    )
    return next(rows, None)
