"""Metrics of the bundled workload, against answers known by hand."""

from math import isnan

import numpy as np
import pytest

from stages.training.lesion_segmentation.metrics import score_case

SPACING = (1.0, 1.0)


def draw(*voxels: tuple[int, int], value: int = 1) -> np.ndarray:
    """An image of 8 x 8 with some voxels set."""
    image = np.zeros((8, 8), np.uint8)
    for voxel in voxels:
        image[voxel] = value
    return image


def test_a_perfect_answer_scores_one() -> None:
    """All metrics that the case has anything to say on are 1."""
    truth = draw((1, 1), (1, 2), (5, 5))
    scores = score_case(truth, truth, SPACING)
    assert {name: s for name, s in scores.items() if not isnan(s)} == {
        "dice": 1.0,
        "lesion_f1": 1.0,
        "lesion_recall": 1.0,
        "lesion_precision": 1.0,
        "lesion_recall_small": 1.0,
    }


def test_partial_answers_are_counted_by_lesion() -> None:
    """One of two lesions found, one of two answers right: 1/2 each; Dice 2 * 1 / (2 + 2)."""
    truth, predicted = draw((1, 1), (5, 5)), draw((1, 1), (3, 7))
    scores = score_case(predicted, truth, SPACING)
    assert scores["lesion_recall"] == scores["lesion_precision"] == scores["lesion_f1"] == 0.5
    assert scores["dice"] == 0.5


def test_lesions_touching_at_a_corner_are_one() -> None:
    """Full connectivity: half of a diagonal pair found is the whole lesion found."""
    scores = score_case(draw((1, 1)), draw((1, 1), (2, 2)), SPACING)
    assert scores["lesion_recall"] == 1.0


def test_dice_is_the_mean_over_the_classes_of_the_truth() -> None:
    """Class 1 right, class 2 taken for class 1: (2 * 1 / (2 + 1) + 0) / 2."""
    truth = draw((1, 1)) + draw((5, 5), value=2)
    predicted = draw((1, 1), (5, 5))
    assert score_case(predicted, truth, SPACING)["dice"] == pytest.approx(1 / 3)


def test_nothing_to_find_and_nothing_found_is_undefined_by_lesion() -> None:
    """Dice is 1 by its stated rule."""
    scores = score_case(draw(), draw(), SPACING)
    assert scores["dice"] == 1.0
    assert isnan(scores["lesion_f1"])
    assert isnan(scores["lesion_recall"])


@pytest.mark.parametrize(("predicted", "truth"), [(draw((1, 1)), draw()), (draw(), draw((1, 1)))])
def test_a_false_alarm_and_a_miss_never_drop_out(predicted: np.ndarray, truth: np.ndarray) -> None:
    """One-sided cases count as 0, so that they cannot raise a mean."""
    scores = score_case(predicted, truth, SPACING)
    names = ("dice", "lesion_f1", "lesion_recall", "lesion_precision")
    assert [scores[name] for name in names] == [0.0] * 4


def test_recall_is_split_by_size() -> None:
    """A disk of 10 mm has 78.5 mm2: at 4 mm2 a pixel, 19 pixels are small and 20 are large."""
    truth = np.zeros((8, 8), np.uint8)
    truth[0:2, 0:8] = 1
    truth[2, 0:3] = 1  # 19 pixels
    truth[4:6, 0:8] = 1
    truth[6, 0:4] = 1  # 20 pixels
    predicted = truth.copy()
    predicted[:3] = 0
    scores = score_case(predicted, truth, (2.0, 2.0))
    assert scores["lesion_recall_small"] == 0.0
    assert scores["lesion_recall_large"] == 1.0


def test_other_shapes_are_refused() -> None:
    """Prediction and truth must be of one case."""
    with pytest.raises(ValueError, match=r"expected shape \(8, 8\), got \(4, 8\)"):
        score_case(draw()[:4], draw(), SPACING)
