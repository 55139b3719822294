"""What becomes of a run: table, JSON, plot, verdicts, the README's block; and the command."""

from dataclasses import replace
from pathlib import Path

import pytest
from benchmark_runs import report, row, scene

from kernels.benchmark.command import main
from kernels.benchmark.fastest import fastest_peer
from kernels.benchmark.interval import Estimate
from kernels.benchmark.plot import write_plot
from kernels.benchmark.readme import BEGIN, END, render, rewrite
from kernels.benchmark.results import Report
from kernels.benchmark.table import render_head, render_scene, render_verdicts
from kernels.benchmark.verdicts import Outcome, Verdict, judge

ROOT = Path(__file__).resolve().parents[2]
FOREIGN = ROOT / "tests" / "doors" / "neighbour_count"
OURS = (row("ours", 1.0, role="ours"), row("ours", 0.5, role="ours", output="out="))


def _verdict(run: Report, what: str) -> Verdict:
    return next(verdict for verdict in judge(run) if verdict.what == what)


def test_a_run_comes_back_from_json(tmp_path: Path) -> None:
    """Everything, down to estimates and samples' summaries."""
    run = report(scene(*OURS, row("cc3d", 2.0, 3.0)), scene(row("edt", 2.0), content="noise"))
    run.write(tmp_path / "made" / "run.json")
    assert Report.read(tmp_path / "made" / "run.json") == run


def test_another_json_file_is_refused(tmp_path: Path) -> None:
    """The file is named, and what to do."""
    (tmp_path / "other.json").write_text('{"name": 1}')
    with pytest.raises(ValueError, match=r"other\.json: expected what --json writes"):
        Report.read(tmp_path / "other.json")


def test_the_fastest_peer_is_one_that_is_right() -> None:
    """Neither a wrong one, nor a yardstick, nor ours."""
    found = fastest_peer(
        scene(
            *OURS,
            row("wrong", 1.0, 1.0, status="wrong"),
            row("yardstick", 1.1, 1.1, role="yardstick"),
            row("slow", 9.0, 9.0),
            row("composition", 3.0, 3.0, role="composition"),
        ),
        1,
        "out=",
    )
    assert found is not None
    assert found.entrant == "composition"


@pytest.mark.parametrize(
    ("ratio", "outcome"), [(2.7, "met"), (2.51, "unclear"), (2.3, "missed"), (None, "not measured")]
)
def test_the_whole_interval_decides_on_a_target(ratio: float | None, outcome: Outcome) -> None:
    """At least 2.5 times as fast: the interval is 2 % to either side."""
    run = report(scene(*OURS, *([] if ratio is None else [row("cc3d", 3.0, ratio)])))
    verdict = _verdict(run, "26 neighbours, out=, sparse")
    assert (verdict.bound, verdict.outcome) == ("≥ 2.5×", outcome)


def test_one_miss_is_a_miss_whatever_the_other_sizes_say() -> None:
    """Each size that was measured has its finding."""
    sizes = ((0.9, 128), (4.0, 256))
    run = report(*(scene(*OURS, row("cc3d", 3.0, r), shape=(n, n, n)) for r, n in sizes))
    verdict = _verdict(run, "26 neighbours, out=, sparse")
    assert [finding.outcome for finding in verdict.findings] == ["missed", "met"]
    assert verdict.outcome == "missed"


def test_an_upper_bound_is_on_ours_over_theirs() -> None:
    """A loss may take a quarter of MONAI's time, and 1.2 times as long with many lesions."""
    ours = row("ours", 2.0, role="ours")
    yardstick = row("MONAI DiceCE", 10.0, 5.0, role="yardstick")
    loss = {"operator": "lesion_loss", "variant": "blob", "shape": (1, 1, 256, 256, 256)}
    run = report(
        scene(ours, yardstick, content="5 lesions", **loss),
        scene(replace(ours, ns_per_voxel=2.6), content="200 lesions", **loss),
    )
    (finding,) = _verdict(run, "blob loss").findings
    assert finding.figure.value == pytest.approx(0.2)
    assert finding.outcome == "met"
    (spread,) = _verdict(run, "blob loss, 5 to 200 lesions").findings
    assert spread.figure.value == pytest.approx(1.3)
    assert spread.outcome == "missed"


def test_a_second_thread_memory_and_builds_have_verdicts() -> None:
    """They are held against targets of their own."""
    heavy = replace(OURS[0], extra_bytes_per_voxel=0.7)
    run = report(scene(heavy, OURS[1]))
    assert _verdict(run, "two threads").outcome == "met"
    assert _verdict(run, "memory beyond the result, bytes a voxel").outcome == "missed"
    assert _verdict(run, "cold build, s").outcome == "met"
    assert _verdict(run, "undefined at:: and c10:: symbols").outcome == "met"


def test_the_table_says_who_is_wrong_absent_or_alone_on_a_thread() -> None:
    """Nobody is dropped without a word."""
    alone = replace(
        row("cc3d", 2.0, 4.0), ratios={"out=@1": Estimate(4.0), "out=@2": Estimate(6.0)}
    )
    text = render_scene(
        scene(
            *OURS,
            alone,
            row("kornia", 9.0, 9.0, status="wrong", note="4 components instead of 3"),
            row("OpenCV", 0, status="absent", note="pip install it", ns_per_voxel=None),
        )
    )
    assert "WRONG: 4 components instead of 3" in text
    assert "OpenCV absent: pip install it" in text
    assert "ours on 2 threads: 6×" in text
    assert "others used 1% of the processors" in text
    assert "two threads over one: out= 1.8× (1.75–1.85)" in text


def test_the_end_of_a_run_tells_verdicts_machine_and_noise() -> None:
    """A busy machine is called one."""
    run = report(scene(*OURS, row("cc3d", 3.0, 3.0)))
    assert "256³ 3× (2.94–3.06) (cc3d)" in render_verdicts(judge(run))
    assert "at most 1.0%; quiet" in render_head(run)
    busy = replace(run, scenes=(replace(run.scenes[0], by_others=0.4),))
    assert "at most 40.0%; not quiet: measure again" in render_head(busy)


def test_the_plot_is_a_picture(tmp_path: Path) -> None:
    """A panel each of what was timed; nothing timed, no picture, and a word."""
    pytest.importorskip("matplotlib")
    run = report(scene(*OURS, row("cc3d", 3.0, 3.0)))
    assert write_plot(run, tmp_path / "plots" / "run.png") is None
    assert (tmp_path / "plots" / "run.png").read_bytes().startswith(b"\x89PNG")
    assert write_plot(report(), tmp_path / "none.png") == "no plot: nothing was timed"


def test_the_readme_block_is_replaced_and_nothing_else(tmp_path: Path) -> None:
    """Twice is the same as once."""
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    run = report(scene(*OURS, row("cc3d", 1.5, 3.0)))
    for _ in range(2):
        rewrite(readme, run, Path("docs/run.json"))
    text = readme.read_text()
    assert text == f"before\n{BEGIN}\n{render(run, Path('docs/run.json'))}\n{END}\nafter\n"
    assert "26 neighbours | sparse, 256³ | 0.50 | 1 | cc3d 1.5 | 3× (2.94–3.06) |" in text


def test_a_readme_without_markers_is_refused(tmp_path: Path) -> None:
    """It is left as it was."""
    readme = tmp_path / "README.md"
    readme.write_text("nothing here\n")
    with pytest.raises(ValueError, match=r"README\.md: expected the markers once each"):
        rewrite(readme, report(), Path("docs/run.json"))
    assert readme.read_text() == "nothing here\n"


def test_a_quick_run_is_no_source_for_the_readme(tmp_path: Path) -> None:
    """It has neither the sizes nor the samples."""
    with pytest.raises(ValueError, match=r"run\.json: expected a whole run, got a --quick one"):
        rewrite(tmp_path / "README.md", replace(report(), is_quick=True), Path("run.json"))


def test_the_committed_readme_is_what_the_committed_run_renders_to() -> None:
    """Figures in the README come from the benchmark, and from nowhere else."""
    runs = sorted((ROOT / "docs" / "benchmark").glob("*.json"))
    text = (ROOT / "README.md").read_text("utf-8")
    if not runs:
        pytest.skip("no run has been committed yet")
    (run,) = runs
    block = text.partition(BEGIN)[2].partition(END)[0].strip()
    assert block == render(Report.read(run), run.relative_to(ROOT))


def test_an_unknown_operator_is_refused_by_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    """With status 2, and the names that there are."""
    assert main(["nothing_of_that_name", "--quick"]) == 2
    assert "connected_components, distance_transform, lesion_loss" in capsys.readouterr().err


def test_a_pattern_that_matches_no_scene_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing measured is no result."""
    assert main(["lesion_loss", "--quick", "--only", "no such scene"]) == 2
    assert "is in no scene's name; --list has them" in capsys.readouterr().err


def test_scenes_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """One a line, as --only matches them."""
    assert main(["distance_transform", "--quick", "--list"]) == 0
    assert "distance_transform / signed / smooth / 128x128x128\n" in capsys.readouterr().out


def test_a_foreign_folder_is_measured_on_its_own_cases(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its operator beside its compositions, and the run in a file."""
    file = tmp_path / "run.json"
    assert main([str(FOREIGN), "--quick", "--only", "row", "--json", str(file)]) == 0
    (measured,) = Report.read(file).scenes
    assert measured.content == "row"
    assert {row.entrant for row in measured.rows} == {"ours", "convolution", "shifts"}
    assert {row.status for row in measured.rows if row.entrant != "ours"} == {"timed"}
    assert "convolution" in capsys.readouterr().out
