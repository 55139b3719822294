"""The benchmark's measuring: turns, ratios, agreement, inputs, memory."""

from pathlib import Path

import numpy as np
import pytest
import torch

from kernels.benchmark.agreement import close, same_components, same_loss, same_values
from kernels.benchmark.contention import Contention
from kernels.benchmark.forecast import Forecast
from kernels.benchmark.interleaving import MOST_ROUNDS, Runner, interleave, ratio
from kernels.benchmark.interval import LEAST_SAMPLES, Estimate, median_ratio
from kernels.benchmark.masks import CONTENTS, make_lesions, make_mask
from kernels.benchmark.memory import extra_bytes_per_voxel
from kernels.benchmark.plan import QUICK
from kernels.benchmark.results import Bandwidth, Row, SceneResult
from kernels.benchmark.run import run_scene
from kernels.benchmark.scene import Entrant, Inputs, Scene, Suite, Traffic
from kernels.benchmark.stopwatch import Sample
from kernels.benchmark.suites import BUNDLED

BANDWIDTH = Bandwidth({"1": 0.03, "2": 0.03}, {"1": 0.03, "2": 0.03}, {"1": 0.1, "2": 0.1})


def test_the_ratio_is_the_median_over_pairs() -> None:
    """What slows a whole round down, both sides of it, does not show."""
    numerators, denominators = [2.0, 20.0, 2.0, 200.0], [1.0, 10.0, 1.0, 100.0]
    assert median_ratio(numerators, denominators) == Estimate(2.0, 2.0, 2.0)


def test_a_ratio_of_few_pairs_has_no_interval() -> None:
    """Two samples say nothing on how far off they are."""
    assert median_ratio([3.0, 3.0], [1.0, 1.0]) == Estimate(3.0)
    assert not median_ratio([3.0, 3.0], [1.0, 1.0]).is_within(0.5)


def test_the_reciprocal_of_an_estimate_swaps_its_ends() -> None:
    """Ours over theirs, where theirs over ours was measured."""
    assert Estimate(4.0, 2.0, 8.0).inverted() == Estimate(0.25, 0.125, 0.5)


def test_ours_is_timed_in_every_round_and_a_slow_peer_at_least_three_times() -> None:
    """A peer that has used up its part drops out; ratios then rest on the rounds of both."""
    work = torch.zeros(1 << 16)
    runners = {
        "ours": Runner(lambda: work.add_(1), 1),
        "slow": Runner(lambda: [work.add_(1) for _ in range(200)], 1),
    }
    interleave(runners, ["ours"], limit_s=0.05)
    ours, slow = runners["ours"], runners["slow"]
    assert LEAST_SAMPLES <= len(slow.samples) <= len(ours.samples) <= MOST_ROUNDS
    assert slow.samples.keys() <= ours.samples.keys() == set(range(len(ours.samples)))
    found = ratio(slow, ours)
    assert found is not None
    assert found.value > 1


def test_one_thread_is_compared_by_cpu_time_and_more_by_wall_time() -> None:
    """A second thread that spins costs CPU time, and helps all the same."""
    samples = {0: Sample(cpu_ms=6.0, wall_ms=3.0)}
    ours = {0: Sample(cpu_ms=2.0, wall_ms=2.0)}
    single = Runner(lambda: None, 1, samples=dict(ours))
    assert ratio(Runner(lambda: None, 1, samples=samples), single) == Estimate(3.0)
    assert ratio(Runner(lambda: None, 2, samples=samples), single) == Estimate(1.5)
    assert ratio(Runner(lambda: None, 2), single) is None


def test_labellings_agree_however_they_are_numbered() -> None:
    """Split, merged or missing components are told; other numbers, gaps among them, are not."""
    ours = torch.tensor([[1, 1, 0], [0, 0, 2], [3, 0, 2]], dtype=torch.int32)
    assert same_components(ours, np.array([[9, 9, 0], [0, 0, 4], [2, 0, 4]])) is None
    merged = same_components(ours, np.array([[1, 1, 0], [0, 0, 2], [2, 0, 2]]))
    assert merged is not None
    split = same_components(ours, np.array([[1, 4, 0], [0, 0, 2], [3, 0, 2]]))
    assert split == "4 components instead of 3"
    assert same_components(ours, np.zeros((3, 3), np.int32)) is not None
    assert same_components(ours, np.zeros(4, np.int32)) == "4 voxels instead of 9"


def test_batches_of_labels_are_compared_volume_by_volume() -> None:
    """Numbers start again in each volume; a library's batch is a list."""
    ours = torch.tensor([[[[[1, 0, 2]]]], [[[[1, 1, 0]]]]], dtype=torch.int32)
    theirs = [np.array([[[2, 0, 1]]], np.uint16), np.array([[[1, 1, 0]]], np.uint16)]
    assert same_components(ours, theirs) is None
    assert same_components(ours, [theirs[1], theirs[0]]) is not None


def test_distances_agree_within_float32() -> None:
    """Infinities agree with infinities, and what differs is told by its size."""
    ours = torch.tensor([0.0, 1.0, 3.0, torch.inf])
    assert close(ours, np.array([0.0, 1.0, 3.0000001, np.inf])) is None
    assert close(ours, np.array([0.0, 1.1, 3.0, np.inf])) == "off by up to 10.0%"
    assert close(ours, np.array([0.0, 1.0, 3.0, 7.0])) is not None


def test_losses_agree_in_value_and_gradient() -> None:
    """A loss that is right with a gradient that is not is wrong."""
    ours = (torch.tensor(0.5), torch.tensor([1.0, -2.0]))
    assert same_loss(ours, ours) is None
    assert same_loss(ours, (torch.tensor(0.6), ours[1])) == "loss 0.6 instead of 0.5"
    wrong = same_loss(ours, (ours[0], torch.tensor([1.0, -1.0])))
    assert wrong == "gradient off by up to 50.0% of the largest"


def test_results_of_any_structure_can_be_compared() -> None:
    """For operators that the benchmark knows nothing of."""
    assert same_values((torch.ones(2), 3), (np.ones(2), 3)) is None
    assert same_values(torch.ones(2), torch.zeros(2)) == "differs at 2 of 2 places"
    assert same_values(torch.ones(2), torch.ones(3)) == "shape (3,) instead of (2,)"


@pytest.mark.parametrize("shape", [(40, 41, 42), (200, 210)])
def test_masks_are_what_their_names_say(shape: tuple[int, ...]) -> None:
    """Sparse ones have few voxels, inverted ones the rest, the others about half."""
    shares = {content: float(make_mask(content, shape).float().mean()) for content in CONTENTS}
    assert 0 < shares["sparse"] < 0.05
    assert shares["inverted"] == pytest.approx(1 - shares["sparse"])
    assert shares["noise"] == pytest.approx(0.5, abs=0.02)
    assert shares["smooth"] == pytest.approx(0.5, abs=0.1)
    assert all(make_mask(content, shape).shape == shape for content in CONTENTS)


def test_every_sample_has_every_lesion() -> None:
    """Lesions are apart: none is painted over, none runs into another."""
    logits, target = make_lesions((2, 1, 64, 64, 64), 50)
    assert logits.shape == target.shape
    for sample in target:
        assert sample.unique().tolist() == list(range(51))


def test_contention_is_a_share() -> None:
    """Of the time of all processors, as far as the system tells."""
    with Contention() as contention:
        torch.rand(1 << 20).sort()
    if not Path("/proc/stat").is_file():
        pytest.skip("the system does not tell")
    assert contention.by_others is not None
    assert 0 <= contention.by_others <= 1


def _absent(inputs: Inputs) -> object:
    import a_library_that_nobody_has  # type: ignore[import-not-found]

    return a_library_that_nobody_has


def _run(*entrants: Entrant) -> SceneResult:
    scene = Scene(
        "doubling",
        "any",
        "ones",
        (1000,),
        lambda shape: Inputs((torch.ones(shape),)),
        same_values,
        Traffic(4, 4),
    )
    suite = Suite("doubling", lambda plan: [scene], lambda scene, plan: entrants)
    return run_scene(suite, scene, QUICK, Forecast(), BANDWIDTH)


def _rows(result: SceneResult, entrant: str) -> list[Row]:
    return [row for row in result.rows if row.entrant == entrant]


def test_everyone_is_compared_with_ours_and_timed_whatever_comes_of_it() -> None:
    """Right, wrong, failed and absent peers each have their row, and the reason with it."""
    result = _run(
        Entrant("ours", "ours", lambda inputs: lambda: inputs.args[0] * 2),
        Entrant("adding", "library", lambda inputs: lambda: inputs.args[0] + inputs.args[0]),
        Entrant("tripling", "library", lambda inputs: lambda: inputs.args[0] * 3),
        Entrant("other", "yardstick", lambda inputs: lambda: inputs.args[0].sum()),
        Entrant("failing", "library", lambda inputs: lambda: inputs.args[0].view(7)),
        Entrant("missing", "library", _absent, "some-distribution"),  # type: ignore[arg-type]
    )
    assert {row.status for row in _rows(result, "adding")} == {"timed"}
    assert {row.note for row in _rows(result, "tripling")} == {"differs at 1000 of 1000 places"}
    assert {row.status for row in _rows(result, "tripling")} == {"wrong"}
    assert all(row.ns_per_voxel for row in (*_rows(result, "tripling"), *_rows(result, "other")))
    assert {row.note for row in _rows(result, "other")} == {"another function"}
    assert _rows(result, "failing")[0].note.startswith("RuntimeError: shape '[7]'")
    missing = _rows(result, "missing")
    assert [(row.status, row.note) for row in missing] == [
        ("absent", "pip install some-distribution")
    ]


def test_a_peer_of_one_thread_is_compared_with_ours_on_every_number_of_threads() -> None:
    """It cannot have more, and ours may."""
    result = _run(
        Entrant("ours", "ours", lambda inputs: lambda: inputs.args[0] * 2),
        Entrant("adding", "library", lambda inputs: lambda: inputs.args[0] * 2, uses_threads=False),
    )
    (peer,) = _rows(result, "adding")
    counts = QUICK.thread_counts
    assert peer.num_threads == 1
    assert set(peer.ratios) == {f"allocating@{count}" for count in counts}
    assert [row.num_threads for row in _rows(result, "ours")] == list(counts)
    assert set(result.second_thread_gain) == ({"allocating"} if 2 in counts else set())


def test_what_was_slow_on_a_small_input_is_not_tried_on_a_large_one() -> None:
    """The guess grows with the voxels, and holds for the same question alone."""
    small, large, other = (
        Scene("o", variant, "c", shape, lambda _: Inputs(()), same_values, Traffic(1, 1))
        for variant, shape in (("v", (10, 10)), ("v", (100, 100)), ("w", (100, 100)))
    )
    entrant = Entrant("slow", "library", lambda inputs: lambda: None)
    forecast = Forecast()
    assert forecast.seconds(large, entrant) is None
    forecast.note(small, entrant, 0.5)
    assert forecast.seconds(large, entrant) == pytest.approx(50)
    assert forecast.seconds(other, entrant) is None


def test_scenes_have_names_of_their_own() -> None:
    """A child finds the scene that it is asked for by its name."""
    names = [scene.name for suite in BUNDLED.values() for scene in suite.scenes(QUICK)]
    assert len(names) == len(set(names))


def test_peak_memory_is_what_the_work_takes_beyond_its_result() -> None:
    """SciPy keeps two float64 fields and more beside a distance; a fill of its result, nothing."""
    suite = BUNDLED["distance_transform"]
    scene = next(scene for scene in suite.scenes(QUICK) if scene.with_memory)
    entrant = next(one for one in suite.entrants(scene, QUICK) if one.name == "SciPy")
    extra = extra_bytes_per_voxel(scene, entrant, QUICK)
    assert extra is not None
    assert 16 < extra < 100
