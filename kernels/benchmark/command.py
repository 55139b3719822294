"""The command line."""

import argparse
import sys
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from kernels.benchmark.bandwidth import measure_bandwidth
from kernels.benchmark.cold_build import build_cold
from kernels.benchmark.forecast import Forecast
from kernels.benchmark.machine import describe_machine, describe_versions
from kernels.benchmark.plan import FULL, QUICK, Plan
from kernels.benchmark.plot import write_plot
from kernels.benchmark.readme import rewrite
from kernels.benchmark.results import Bandwidth, Report, SceneResult
from kernels.benchmark.run import run_scene
from kernels.benchmark.scene import Scene, Suite
from kernels.benchmark.suites import BUNDLED, find_suite
from kernels.benchmark.table import LEGEND, render_head, render_scene, render_verdicts
from kernels.benchmark.verdicts import judge


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark, or render a run; 0 when done, 2 when an option is at fault."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        if options.readme is not None:
            return _render_readme(options.readme, options.json)
        return _measure(options)
    except (FileNotFoundError, FileExistsError, ValueError) as error:
        print(f"kernels.benchmark: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m kernels.benchmark", description=__doc__)
    parser.add_argument(
        "operator",
        nargs="?",
        help=f"{', '.join(BUNDLED)}, or the folder of another operator; all bundled ones without",
    )
    parser.add_argument("--quick", action="store_true", help="small inputs, 90 s in all")
    parser.add_argument(
        "--only",
        metavar="PATTERN",
        default="",
        help="scenes whose name holds this, such as 256x256",
    )
    parser.add_argument("--list", action="store_true", help="name the scenes and end")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write (or, to render, read) it")
    parser.add_argument("--plot", metavar="FILE", type=Path, help="write a PNG")
    parser.add_argument(
        "--readme", metavar="FILE", type=Path, help="render --json into the file's table and end"
    )
    return parser


def _measure(options: argparse.Namespace) -> int:
    plan = QUICK if options.quick else FULL
    suites = [find_suite(name) for name in ([options.operator] if options.operator else BUNDLED)]
    chosen = {
        suite.operator: [scene for scene in suite.scenes(plan) if options.only in scene.name]
        for suite in suites
    }
    if not any(chosen.values()):
        raise ValueError(f"--only {options.only!r} is in no scene's name; --list has them")
    if options.list:
        print(*(scene.name for scenes in chosen.values() for scene in scenes), sep="\n")
        return 0
    report = _run(suites, chosen, plan, is_whole=not options.only)
    print(render_verdicts(judge(report)), end="\n\n")
    print(render_head(report))
    print(f"took {report.duration_s:.0f} s")
    if options.json is not None:
        report.write(options.json)
    if options.plot is not None:
        missing = write_plot(report, options.plot)
        if missing is not None:
            print(missing)
    return 0


def _run(
    suites: Sequence[Suite], chosen: Mapping[str, Sequence[Scene]], plan: Plan, is_whole: bool
) -> Report:
    """Measure the chosen scenes; builds too, where it is a whole run."""
    began = time.perf_counter()
    date = datetime.now(UTC).isoformat(timespec="seconds")
    print(LEGEND, end="\n\n")
    builds = map(build_cold, chosen) if is_whole and not plan.is_quick else ()
    cold = tuple(build for build in builds if build is not None)
    bandwidth = measure_bandwidth(plan.thread_counts)
    results = [
        result
        for suite in suites
        for result in _results(suite, chosen[suite.operator], plan, bandwidth)
    ]
    return Report(
        command=" ".join(("python -m kernels.benchmark", *sys.argv[1:])),
        date=date,
        is_quick=plan.is_quick,
        duration_s=time.perf_counter() - began,
        machine=describe_machine(),
        versions=describe_versions(),
        bandwidth=bandwidth,
        builds=cold,
        scenes=tuple(results),
    )


def _results(
    suite: Suite, scenes: Sequence[Scene], plan: Plan, bandwidth: Bandwidth
) -> Iterator[SceneResult]:
    """Of each scene as soon as it is there, printed."""
    forecast = Forecast()
    for scene in scenes:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of foreign code and of a compiler's internals
                result = run_scene(suite, scene, plan, forecast, bandwidth)
        except (FileNotFoundError, ImportError) as error:
            print(f"{scene.name}: skipped: {error}\n", flush=True)
            continue
        print(render_scene(result), end="\n\n", flush=True)
        yield result


def _render_readme(readme: Path, source: Path | None) -> int:
    if source is None:
        committed = sorted((readme.parent / "docs" / "benchmark").glob("*.json"))
        if len(committed) != 1:
            raise ValueError(
                f"expected one run in {readme.parent / 'docs/benchmark'}, found {len(committed)}; "
                "name one by --json"
            )
        source = committed[0]
    relative = source.resolve().relative_to(readme.resolve().parent)
    rewrite(readme, Report.read(source), relative)
    return 0
