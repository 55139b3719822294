"""Which sample comes when."""

import torch
from blob_cases import make_cases, make_job, make_shape, read_blobs

from stages.training.lesion_segmentation import make
from stages.training.order import augmentation_seed, make_batch, sample_index


def test_every_epoch_shows_each_sample_once() -> None:
    """Positions of one epoch cover all samples, in an order that differs between epochs."""
    epochs = [[sample_index(3, 7, 7 * epoch + i) for i in range(7)] for epoch in range(3)]
    assert [sorted(epoch) for epoch in epochs] == [list(range(7))] * 3
    assert epochs[0] != epochs[1]


def test_order_follows_the_seed() -> None:
    """Another seed gives another order and other variations; a negative one is its own."""
    orders = {tuple(sample_index(seed, 20, i) for i in range(20)) for seed in (-1, 0, 1)}
    variations = {augmentation_seed(seed, 5) for seed in (-1, 0, 1)}
    assert len(orders) == 3
    assert len(variations) == 3


def test_a_batch_is_the_same_whole_or_in_parts() -> None:
    """A sample's variation depends on its position alone, not on its neighbours in the batch."""
    workload, job = make(), make_job(batch_size=4)
    samples = workload.make_samples(make_cases(), read_blobs, make_shape())
    whole = make_batch(workload, samples, job, range(4, 8))
    parts = [make_batch(workload, samples, job, (position,)) for position in range(4, 8)]
    for name, values in whole.items():
        assert torch.equal(values, torch.cat([part[name] for part in parts])), name
