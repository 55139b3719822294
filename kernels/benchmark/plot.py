"""The results as a picture: ns a voxel of ours and of everyone who is right, one panel each."""

from pathlib import Path
from typing import Any

from kernels.benchmark.results import Report, Row, SceneResult
from kernels.benchmark.scene import REUSING
from kernels.benchmark.words import size_of

LONGEST_BARS = 7
"""A panel shows ours and the fastest others, so many in all."""
OURS, OURS_REUSING, OTHERS = "#1f6fb4", "#0b3d66", "#b8b8b8"


def write_plot(report: Report, path: Path) -> str | None:
    """Write a PNG; what is missing in words where matplotlib is absent."""
    try:
        import matplotlib
    except ImportError:
        return "no plot: pip install matplotlib"
    matplotlib.use("Agg")
    from matplotlib import pyplot

    scenes = [scene for scene in _reference_scenes(report) if _bars(scene)]
    if not scenes:
        return "no plot: nothing was timed"
    columns = 4
    rows = -(-len(scenes) // columns)
    figure, axes = pyplot.subplots(
        rows, columns, figsize=(4.2 * columns, 2.1 * rows), squeeze=False, layout="constrained"
    )
    for index, axis in enumerate(axes.flat):
        if index < len(scenes):
            _draw(axis, scenes[index])
        else:
            axis.set_axis_off()
    figure.suptitle(
        f"ns a voxel, one thread, {report.machine.get('processor', '')}: less is better"
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
    return None


def _reference_scenes(report: Report) -> list[SceneResult]:
    """Of each operator, variant, content and number of axes the size nearest to 256³ or 2048²."""
    best: dict[tuple[str, str, str, int], SceneResult] = {}
    for scene in report.scenes:
        key = (scene.operator, scene.variant, scene.content, len(scene.shape))
        if key not in best or _distance(scene) < _distance(best[key]):
            best[key] = scene
    return list(best.values())


def _distance(scene: SceneResult) -> int:
    return abs(scene.shape[-1] - (2048 if len(scene.shape) == 2 else 256))


def _bars(scene: SceneResult) -> list[Row]:
    rows = [
        row
        for row in scene.rows
        if row.num_threads == 1 and row.ns_per_voxel is not None and row.status == "timed"
    ]
    return sorted(rows, key=lambda row: (row.role != "ours", row.ns_per_voxel or 0))[:LONGEST_BARS]


def _draw(axis: Any, scene: SceneResult) -> None:
    bars = _bars(scene)
    names = [" ".join((row.entrant, *_marks(row))) for row in bars]
    colours = [_colour(row) for row in bars]
    values = [row.ns_per_voxel or 0.0 for row in bars]
    places = range(len(bars))
    drawn = axis.barh(places, values, color=colours)
    axis.bar_label(drawn, [f"{value:.3g}" for value in values], padding=2, fontsize=7)
    axis.set_yticks(places, names, fontsize=7)
    axis.invert_yaxis()
    axis.set_xscale("log")
    axis.margins(x=0.15)
    axis.tick_params(axis="x", labelsize=6)
    axis.set_title(
        f"{scene.operator}\n{scene.variant}, {scene.content}, {size_of(scene.shape)}", fontsize=8
    )


def _marks(row: Row) -> list[str]:
    return [mark for mark in (row.output, row.form) if mark not in ("allocating", "eager")]


def _colour(row: Row) -> str:
    if row.role != "ours":
        return OTHERS
    return OURS_REUSING if row.output == REUSING else OURS
