"""The results as a picture: ns a voxel of ours and of everyone who is right, one panel each."""

from pathlib import Path
from typing import Any

from kernels.benchmark.results import Report, Row, SceneResult
from kernels.benchmark.scene import REUSING
from kernels.benchmark.words import size_of

NUM_BARS = 7
"""A panel shows ours and the fastest others, so many in all."""
LONGEST_BAR = 12
"""As many times as long as ours; longer ones are cut, and marked with an arrow."""
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
    return sorted(rows, key=lambda row: (row.role != "ours", row.ns_per_voxel or 0))[:NUM_BARS]


def _draw(axis: Any, scene: SceneResult) -> None:
    """Bars from 0, cut where they would leave nothing to see of ours; figures are in full."""
    bars = _bars(scene)
    values = [row.ns_per_voxel or 0.0 for row in bars]
    ours = [value for row, value in zip(bars, values, strict=True) if row.role == "ours"]
    longest = LONGEST_BAR * min(ours or values)
    places = range(len(bars))
    shown = [min(value, longest) for value in values]
    drawn = axis.barh(places, shown, color=[_colour(row) for row in bars])
    figures = [f"{value:.3g}{' →' if value > longest else ''}" for value in values]
    axis.bar_label(drawn, figures, padding=2, fontsize=7)
    axis.set_yticks(places, [" ".join((row.entrant, *_marks(row))) for row in bars], fontsize=7)
    axis.invert_yaxis()
    axis.margins(x=0.2)
    axis.set_xticks([])
    axis.spines[["top", "right", "bottom"]].set_visible(False)
    axis.set_title(
        f"{scene.operator}\n{scene.variant}, {scene.content}, {size_of(scene.shape)}", fontsize=8
    )


def _marks(row: Row) -> list[str]:
    return [mark for mark in (row.output, row.form) if mark not in ("allocating", "eager")]


def _colour(row: Row) -> str:
    if row.role != "ours":
        return OTHERS
    return OURS_REUSING if row.output == REUSING else OURS
