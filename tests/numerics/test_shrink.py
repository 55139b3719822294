"""Failing calls are made small without losing what makes them fail."""

import torch

from stages.numerics.probe import Probe
from stages.numerics.shrink import shrink

LIMIT_S = 30.0


def test_shape_and_values_shrink_to_the_one_voxel_that_matters() -> None:
    """A 7 somewhere in a volume: what is left is that voxel."""
    volume = torch.randint(0, 7, (6, 9, 11), generator=torch.Generator().manual_seed(0))
    volume[4, 5, 6] = 7
    smallest = shrink(Probe((volume,)), lambda probe: bool((probe.tensors[0] == 7).any()), LIMIT_S)
    assert smallest.tensors[0].tolist() == [[[7]]]


def test_values_that_do_not_matter_become_zero() -> None:
    """Two voxels at a distance of three in a row: the row stays, the rest goes."""
    mask = torch.ones(5, 8)

    def is_failing(probe: Probe) -> bool:
        first = probe.tensors[0]
        return first.shape[1] >= 4 and bool(((first[:, :-3] != 0) & (first[:, 3:] != 0)).any())

    smallest = shrink(Probe((mask,)), is_failing, LIMIT_S)
    assert smallest.tensors[0].tolist() == [[1.0, 0.0, 0.0, 1.0]]


def test_tensors_of_one_shape_shrink_together() -> None:
    """Logits and labels stay in step; a broadcast weight of another length stays as it is."""
    logits, labels, weights = torch.rand(4, 6), torch.ones(4, 6, dtype=torch.int32), torch.rand(3)
    smallest = shrink(Probe((logits, labels, weights)), lambda probe: True, LIMIT_S)
    assert [tensor.shape for tensor in smallest.tensors] == [(1, 1), (1, 1), (1,)] or [
        tensor.shape for tensor in smallest.tensors
    ] == [(1, 1), (1, 1), (3,)]


def test_what_cannot_shrink_is_returned_as_it_was() -> None:
    """Nothing smaller fails: the given call is the smallest."""
    probe = Probe((torch.ones(2, 3),))
    smallest = shrink(probe, lambda found: found.tensors[0].sum() == 6, LIMIT_S)
    assert torch.equal(smallest.tensors[0], probe.tensors[0])
