"""`out=`: the same distances, in memory of the caller's."""

import pytest
import torch

from kernels.distance_transform import distance_transform
from tests.kernels.distance_masks import random_mask


@pytest.mark.parametrize("kind", range(6))
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("spacing", [(2.5, 1.0, 0.8), (1.1, 0.77, 0.3333)])
def test_out_is_written_throughout_and_returned(
    kind: int, signed: bool, spacing: tuple[float, ...]
) -> None:
    """What it held before, even NaN, does not matter."""
    mask = torch.from_numpy(random_mask((9, 20, 150), 3, kind))
    out = torch.full(mask.shape, torch.nan)
    assert distance_transform(mask, spacing, signed=signed, out=out) is out
    assert torch.equal(out, distance_transform(mask, spacing, signed=signed))


def test_out_may_be_a_part_of_a_larger_tensor() -> None:
    """Contiguous is enough, wherever its memory begins; the rest stays as it was."""
    mask = torch.from_numpy(random_mask((9, 20, 37), 3, kind=0))
    larger = torch.full((mask.numel() + 7,), -1.0)
    part = larger[5:-2].view(mask.shape)
    distance_transform(mask, out=part)
    assert torch.equal(part, distance_transform(mask))
    assert larger[:5].tolist() == [-1.0] * 5
    assert larger[-2:].tolist() == [-1.0] * 2


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (torch.empty(4, 5, dtype=torch.float64), "out must be float32, got Double"),
        (torch.empty(5, 4), "out must have the shape of the mask"),
        (torch.empty(4, 5, 1), "out must have the shape of the mask"),
        (torch.empty(5, 4).T, "out must be contiguous"),
        (torch.empty(1, 5).expand(4, 5), "out must be contiguous"),
    ],
)
def test_unfit_out_is_refused(out: torch.Tensor, message: str) -> None:
    """One clear error, and nothing is written."""
    with pytest.raises(RuntimeError, match=message):
        distance_transform(torch.zeros(4, 5), out=out)


def test_out_that_shares_memory_with_the_mask_is_refused() -> None:
    """The mask is read while results are written."""
    shared = torch.zeros(2, 4, 5)
    with pytest.raises(RuntimeError, match="must not share memory with the mask"):
        distance_transform(shared[0], out=shared[0])
    with pytest.raises(RuntimeError, match="must not share memory with the mask"):
        distance_transform(shared.view(torch.uint8)[1, :, 3:8], out=shared[1])
    distance_transform(shared[0], out=shared[1])


def test_out_and_nearest_exclude_each_other() -> None:
    """There is no room for indices in it."""
    with pytest.raises(ValueError, match="pass out or return_nearest, not both"):
        distance_transform(torch.zeros(3), return_nearest=True, out=torch.empty(3))


@pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated:DeprecationWarning")
def test_out_works_in_a_compiled_graph() -> None:
    """The overload is registered as one that writes: a compiler keeps the order of what it does."""

    def measure_twice(mask: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        distance_transform(mask, (2.0, 1.0), out=out)
        first = out + 1
        distance_transform(mask, (1.0, 1.0), out=out)
        return first

    mask = torch.from_numpy(random_mask((20, 30), 1, kind=0))
    out = torch.empty(mask.shape)
    first = torch.compile(measure_twice, fullgraph=True, backend="aot_eager")(mask, out)
    assert torch.equal(first, distance_transform(mask, (2.0, 1.0)) + 1)
    assert torch.equal(out, distance_transform(mask))


def test_registered_operator_takes_three_arguments_as_before() -> None:
    """Graphs that were exported before there were signed distances keep working."""
    mask = torch.from_numpy(random_mask((20, 30), 1, kind=0))
    found = torch.ops.breakeven.distance_transform(mask, [2.0, 1.0], 2)
    assert torch.equal(found, distance_transform(mask, (2.0, 1.0)))


def test_out_of_a_mask_that_requires_a_gradient() -> None:
    """There is no gradient, and nothing pretends that there is."""
    mask = torch.rand(4, 5, requires_grad=True)
    out = torch.empty(4, 5)
    assert not distance_transform(mask, out=out).requires_grad
