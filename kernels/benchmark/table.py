"""The results as text for a terminal."""

from collections import Counter
from collections.abc import Iterator, Sequence

from kernels.benchmark.interval import LEAST_SAMPLES
from kernels.benchmark.results import Report, Row, SceneResult, Times
from kernels.benchmark.scene import ALLOCATING, REUSING
from kernels.benchmark.verdicts import Finding, Verdict
from kernels.benchmark.words import number, percent, size_of, times

HEADER = (
    "",
    "thr",
    "n",
    "CPU ms min/med",
    "wall ms min/med",
    "ns/voxel",
    "ours out= is faster",
    "ours allocating is faster",
    "memory bw",
    "extra B/voxel",
    "",
)
LEGEND = """\
CPU ms: user and system time of the process; wall ms: elapsed; least and median of n samples.
ns/voxel: from the least CPU time on one thread, from the least wall time on more.
ours ... is faster: median over rounds of their time over ours, with its 95 % bootstrap interval;
  CPU time where both have one thread, wall time else. A peer that has one thread alone is compared
  with ours on two as well: by wall time, into a reused result and allocating.
memory bw: time that reading and writing the least traffic takes at full speed, over the time taken;
  above 100 % the caches hold the input.
extra B/voxel: peak of the resident set beyond input and result, in a process of its own.
wrong: its result differs from ours; another function: a yardstick, neither right nor wrong."""


def render_scene(scene: SceneResult) -> str:
    """One scene's title and rows."""
    title = f"{scene.operator} · {scene.variant} · {scene.content} · {size_of(scene.shape)}"
    others = f"others used {percent(scene.by_others)} of the processors"
    gains = ", ".join(
        f"{output} {times(gain)}" for output, gain in scene.second_thread_gain.items()
    )
    timed = [row for row in scene.rows if row.ns_per_voxel is not None]
    lines = [f"{title}   [{others}]", *_aligned([HEADER, *map(_cells, timed)])]
    lines += [f"  {line}" for line in _not_timed(scene)]
    if gains:
        lines.append(f"  two threads over one: {gains}")
    return "\n".join(lines)


def render_verdicts(verdicts: Sequence[Verdict]) -> str:
    """One line for each target, with every figure that it speaks of."""
    lines = ["Targets: the whole interval has to be on the right side of the bound."]
    rows = [
        (verdict.outcome, verdict.operator, verdict.what, verdict.bound, _findings(verdict))
        for verdict in verdicts
        if verdict.findings
    ]
    lines += _aligned([("", "operator", "what", "bound", ""), *rows], is_text=True)
    counts = Counter(verdict.outcome for verdict in verdicts)
    lines.append(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    return "\n".join(lines)


def render_head(report: Report) -> str:
    """The machine, the versions, the bandwidth and the noise."""
    facts = [
        ", ".join(f"{name} {fact}" for name, fact in report.machine.items()),
        ", ".join(f"{name} {fact}" for name, fact in report.versions.items()),
    ]
    bandwidth = report.bandwidth
    facts += [
        f"memory on {count} thread(s): read {1 / bandwidth.read[count]:.1f} GB/s, "
        f"write {1 / bandwidth.written[count]:.1f} GB/s, "
        f"read 1 byte and write 4 in {bandwidth.label_copy[count]:.3f} ns"
        for count in bandwidth.read
    ]
    facts.append(_noise(report))
    return "\n".join(facts)


def _noise(report: Report) -> str:
    shares = [scene.by_others for scene in report.scenes if scene.by_others is not None]
    if not shares:
        return "noise: /proc/stat does not tell what others used of the processors"
    busiest = max(shares)
    average = sum(shares) / len(shares)
    verdict = "quiet" if busiest < 0.05 else "not quiet: measure again for figures that count"
    return f"noise: others used {average:.1%} of the processors, at most {busiest:.1%}; {verdict}"


def _cells(row: Row) -> tuple[str, ...]:
    assert row.ns_per_voxel is not None  # only what was timed comes here
    assert row.cpu_ms is not None
    assert row.wall_ms is not None
    return (
        f"  {_name(row)}",
        str(row.num_threads),
        str(row.num_samples),
        _least_and_median(row.cpu_ms),
        _least_and_median(row.wall_ms),
        number(row.ns_per_voxel),
        _ratio(row, REUSING),
        _ratio(row, ALLOCATING),
        percent(row.bandwidth_share),
        "" if row.extra_bytes_per_voxel is None else number(row.extra_bytes_per_voxel),
        _note(row),
    )


def _not_timed(scene: SceneResult) -> Iterator[str]:
    """Who is not in the table and why, those of one reason together."""
    names: dict[str, list[str]] = {}
    for row in scene.rows:
        if row.ns_per_voxel is None:
            name = _name(row)
            found = names.setdefault(f"{row.status}: {row.note}", [])
            if name not in found:
                found.append(name)
    for reason, entrants in names.items():
        yield f"{', '.join(entrants)} {reason}"


def _note(row: Row) -> str:
    parts = [row.note if row.status == "timed" else f"WRONG: {row.note}"]
    if row.num_samples < LEAST_SAMPLES:
        parts.append("few samples")
    beside = [
        times(ratio)
        for output in (REUSING, ALLOCATING)
        if row.num_threads == 1 and (ratio := row.ratios.get(f"{output}@2")) is not None
    ]
    if beside:
        parts.append(f"ours on 2 threads: {', '.join(beside)}")
    return "; ".join(part for part in parts if part)


def _name(row: Row) -> str:
    output = row.output if row.output == REUSING else ""
    form = "" if row.form == "eager" else f"({row.form})"
    return " ".join(part for part in (row.entrant, output, form) if part)


def _ratio(row: Row, output: str) -> str:
    found = row.ratios.get(f"{output}@{row.num_threads}")
    return "" if found is None else times(found)


def _least_and_median(figures: Times) -> str:
    return f"{number(figures.minimum)} / {number(figures.median)}"


def _findings(verdict: Verdict) -> str:
    return "; ".join(_finding(finding, "×" in verdict.bound) for finding in verdict.findings)


def _finding(finding: Finding, is_ratio: bool) -> str:
    beside = f" ({finding.against})" if finding.against else ""
    mark = "" if finding.outcome == "met" else f" {finding.outcome}"
    figure = times(finding.figure) if is_ratio else number(finding.figure.value)
    return f"{finding.where} {figure}{beside}{mark}".strip()


def _aligned(rows: Sequence[tuple[str, ...]], is_text: bool = False) -> Iterator[str]:
    """Names and notes, the first and the last column, to the left; figures to the right."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    last = len(widths) - 1
    for row in rows:
        cells = (
            cell.ljust(width) if is_text or index in (0, last) else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()
