"""The README's performance table, written from a committed run between two markers."""

from collections.abc import Iterator
from pathlib import Path
from textwrap import fill

from kernels.benchmark.fastest import fastest_peer, our_row
from kernels.benchmark.results import Report, SceneResult
from kernels.benchmark.scene import ALLOCATING, REUSING
from kernels.benchmark.verdicts import judge
from kernels.benchmark.words import number, percent, size_of, times

BEGIN = "<!-- performance: written by python -m kernels.benchmark --readme README.md -->"
END = "<!-- performance: end -->"
WIDTH = 120
SIDES = {2: 2048, 3: 256, 5: 256}
"""Last sides of the inputs that the table shows, by number of axes."""
VARIANTS = (
    "26 neighbours",
    "8 neighbours",
    "table with 2 sums",
    "unsigned",
    "signed",
    "with nearest",
    "blob",
    "CC-DiceCE",
)
COLUMNS = (
    "operator",
    "input",
    "ours `out=`",
    "ours",
    "fastest peer",
    "ratio `out=`",
    "ratio",
    "2 threads",
)
CONTENTS = ("sparse", "smooth", "noise", "inverted", "50 lesions")


def rewrite(readme: Path, report: Report, source: Path) -> None:
    """Put the table between the markers.

    Raises:
        ValueError: the file has not one pair of markers, or the run was a quick one.
    """
    if report.is_quick:
        raise ValueError(f"{source}: expected a whole run, got a --quick one")
    text = readme.read_text("utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(END) < text.index(BEGIN):
        raise ValueError(
            f"{readme}: expected the markers once each, in this order:\n{BEGIN}\n{END}"
        )
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    readme.write_text(f"{before}{BEGIN}\n{render(report, source)}\n{END}{after}", "utf-8")


def render(report: Report, source: Path) -> str:
    """The block between the markers; `source` is where the run lies, relative to the README."""
    lines = [_wrapped(_intro(report)), "", *_table(report), "", _wrapped(_closing(report, source))]
    return "\n".join(lines)


def _wrapped(paragraph: str) -> str:
    return fill(paragraph, WIDTH, break_long_words=False, break_on_hyphens=False)


def _intro(report: Report) -> str:
    machine, versions = report.machine, report.versions
    shares = [scene.by_others for scene in report.scenes if scene.by_others is not None]
    noise = percent(max(shares, default=None)) if shares else "an unknown share"
    peers = ", ".join(
        f"{name} {versions[name]}"
        for name in versions
        if name not in ("python", "numpy") and versions[name] != "absent"
    )
    return (
        f"ns a voxel on one thread of an {machine.get('processor', 'unknown processor')} "
        f"({machine.get('cores', '?')} cores, {report.date[:10]}; {peers}). The ratio is the "
        "fastest right peer's time over ours, into a reused result and allocating one, with its "
        f"95 % interval; other processes used at most {noise} of the processors meanwhile."
    )


def _table(report: Report) -> Iterator[str]:
    yield f"| {' | '.join(COLUMNS)} |"
    yield "|---" * len(COLUMNS) + "|"
    for scene in report.scenes:
        if (
            scene.variant in VARIANTS
            and scene.content in CONTENTS
            and scene.shape[-1] == SIDES.get(len(scene.shape))
        ):
            yield _line(scene)


def _line(scene: SceneResult) -> str:
    cells = [f"{scene.operator}, {scene.variant}", f"{scene.content}, {size_of(scene.shape)}"]
    ratios = []
    name = "–"
    for output in (REUSING, ALLOCATING):
        ours = our_row(scene, 1, output)
        cells.append(
            "–" if ours is None or ours.ns_per_voxel is None else number(ours.ns_per_voxel)
        )
        peer = fastest_peer(scene, 1, output)
        ratios.append("–" if peer is None else times(peer.ratios[f"{output}@1"]))
        if peer is not None and peer.ns_per_voxel is not None:
            name = f"{peer.entrant} {number(peer.ns_per_voxel)}"
    gains = scene.second_thread_gain
    gain = gains.get(REUSING) or gains.get(ALLOCATING)
    cells += [name, *ratios, "–" if gain is None else times(gain, with_interval=False)]
    return f"| {' | '.join(cells)} |"


def _closing(report: Report, source: Path) -> str:
    verdicts = judge(report)
    met = sum(verdict.outcome == "met" for verdict in verdicts)
    others = "; ".join(
        f"{verdict.operator} {verdict.what} {verdict.bound}: {verdict.outcome}"
        for verdict in verdicts
        if verdict.outcome != "met"
    )
    plot = source.with_suffix(".png")
    told = f" Not: {others}." if others else ""
    return (
        f"{met} of {len(verdicts)} targets of `kernels/benchmark/targets.py` are met.{told} All "
        f"figures: [{source.name}]({source.as_posix()}), [plot]({plot.as_posix()}); "
        f"`make benchmark` measures them on your machine."
    )
