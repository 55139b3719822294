"""Samples of the bundled workload and their variation."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from blob_cases import make_cases, make_shape, read_blobs

from stages.contract import Case, InputError
from stages.training.lesion_segmentation import make


@pytest.mark.parametrize("spatial", [(16, 16, 16), (32, 16)])
def test_samples_have_the_stated_shapes_and_dtypes(spatial: tuple[int, ...]) -> None:
    """Image, label and instances of a 3-D and a 2-D case."""
    sample = make().make_samples(make_cases(spatial), read_blobs, make_shape(spatial))[0]
    assert {name: (tuple(v.shape), v.dtype) for name, v in sample.items()} == {
        "image": ((1, *spatial), torch.float32),
        "label": ((1, *spatial), torch.int64),
        "instances": ((1, *spatial), torch.int32),
    }
    assert type(sample["image"]) is torch.Tensor


def test_instances_number_the_components_of_the_foreground() -> None:
    """Two cubes apart are instances 1 and 2, whatever their classes."""
    image, label = np.ones((1, 16, 16), np.float32), np.zeros((16, 16), np.int64)
    label[2:4, 2:4], label[4, 4], label[9:12, 9:12] = 1, 2, 1
    samples = make().make_samples(
        make_cases((16, 16)), lambda case: (image, label), make_shape((16, 16), num_classes=3)
    )
    instances = samples[0]["instances"][0]
    assert instances.unique().tolist() == [0, 1, 2]
    assert (instances == 1).sum() == 5


def test_a_small_case_is_padded_at_its_end() -> None:
    """With fit "pad" the voxels keep their places, and zeros follow."""
    sample = make().make_samples(make_cases((12, 10, 16)), read_blobs, make_shape())[0]
    image, _ = read_blobs(make_cases((12, 10, 16))[0])
    assert np.array_equal(sample["image"][:, :12, :10].numpy(), image)
    assert not sample["image"][:, 12:].any()
    assert not sample["image"][:, :, 10:].any()


def test_resampling_keeps_label_values_and_places() -> None:
    """With fit "resample" twice the voxels become the working shape; labels stay whole."""
    shape = replace(make_shape((16, 16)), fit="resample")
    label = np.zeros((32, 32), np.int64)
    label[8:16, 16:24] = 1
    image = label[None].astype(np.float32)
    sample = make().make_samples(make_cases((32, 32)), lambda case: (image, label), shape)[0]
    expected = torch.zeros(16, 16, dtype=torch.int64)
    expected[4:8, 8:12] = 1
    assert torch.equal(sample["label"][0], expected)
    assert torch.equal(sample["image"][0], expected.float())


def test_each_case_is_read_once() -> None:
    """The second epoch reads nothing."""
    reads = []

    def read(case: Case) -> tuple[np.ndarray, np.ndarray]:
        reads.append(case.case_id)
        return read_blobs(case)

    samples = make().make_samples(make_cases(num_cases=2), read, make_shape())
    assert reads == []
    assert len(list(samples)) == len(list(samples)) == 2
    assert reads == ["case0", "case1"]


def test_a_case_larger_than_the_deployed_one_is_refused() -> None:
    """The message names the case and the parameter that helps."""
    samples = make().make_samples(make_cases((20, 16, 16)), read_blobs, make_shape())
    with pytest.raises(InputError, match=r"case0: expected at most .* product\.case_shape"):
        samples[0]


def test_a_label_without_a_class_is_refused() -> None:
    """A label value beyond the classes would index past the logits."""
    image, label = read_blobs(make_cases()[0])
    samples = make().make_samples(make_cases(), lambda case: (image, label * 7), make_shape())
    with pytest.raises(InputError, match=r"case0: expected labels 0 to 1, got 0 to 7"):
        samples[0]


def test_variation_is_a_function_of_the_seed() -> None:
    """The same seed gives the same sample, bit by bit; another one another; the original stays."""
    workload = make()
    sample = workload.make_samples(make_cases(), read_blobs, make_shape())[0]
    before = sample["image"].clone()
    first, again, other = (workload.augment(sample, seed) for seed in (5, 5, 6))
    assert all(torch.equal(first[name], again[name]) for name in sample)
    assert not torch.equal(first["image"], other["image"])
    assert torch.equal(sample["image"], before)


@pytest.mark.parametrize("seed", range(8))
def test_image_label_and_instances_move_together(seed: int) -> None:
    """After any variation lesions are where the label is, and padding is still zero."""
    workload = make()
    sample = workload.make_samples(make_cases(), read_blobs, make_shape())[0]
    varied = workload.augment(sample, seed)
    assert torch.equal(varied["label"] > 0, varied["instances"] > 0)
    assert (varied["image"] == 0).sum() == (sample["image"] == 0).sum()
    inside = varied["image"] != 0
    lesions = varied["image"][inside & (varied["label"] > 0)]
    others = varied["image"][inside & (varied["label"] == 0)]
    assert lesions.mean() > others.mean() + 2 * others.std()
    assert varied["image"].dtype == torch.float32
    assert varied["label"].dtype == torch.int64
    assert varied["instances"].dtype == torch.int32
