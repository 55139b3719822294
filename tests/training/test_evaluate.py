"""Whole cases, at their own voxels."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from blob_cases import make_cases, make_shape, read_blobs
from torch import Tensor, nn

from stages.training.evaluate import evaluate
from stages.training.lesion_segmentation import make


class BrightIsLesion(nn.Module):
    """Finds the cubes: they stand out by 1 above a head of 1."""

    def forward(self, image: Tensor) -> Tensor:
        lesion = (image - 1.5) * 20
        return torch.cat((-lesion, lesion), 1)


@pytest.mark.parametrize("native", [(16, 16, 16), (13, 11, 16)])
def test_a_padded_case_is_judged_at_its_own_voxels(native: tuple[int, ...]) -> None:
    """A network that sees every voxel right scores 1, with and without padding."""
    metrics = evaluate(
        make(), BrightIsLesion(), make_cases(native), read_blobs, make_shape(), "cpu"
    )
    assert metrics["dice"] == [1.0] * 5
    assert metrics["lesion_f1"] == [1.0] * 5


def test_a_resampled_case_is_judged_at_its_own_voxels() -> None:
    """Worked on at half the voxels, a block of even corners comes back with blurred edges alone."""
    label = np.zeros((32, 32), np.int64)
    label[8:24, 8:16] = 1
    image = (label + 1)[None].astype(np.float32)
    shape = replace(make_shape((16, 16)), fit="resample")
    metrics = evaluate(
        make(), BrightIsLesion(), make_cases((32, 32), 1), lambda case: (image, label), shape, "cpu"
    )
    assert metrics["dice"][0] > 0.95


def test_without_cases_there_are_no_metrics() -> None:
    """An empty split gives nothing rather than zeros."""
    assert evaluate(make(), BrightIsLesion(), (), read_blobs, make_shape(), "cpu") == {}
