"""How a failing call is told: layouts and tensors as Python, circumstances in words."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from stages.numerics.as_python import as_python, tensor_expression
from stages.numerics.explain import explain
from stages.numerics.layouts import LAYOUTS, arrange, arranging, fitting
from stages.numerics.probe import Probe
from stages.numerics.trial import Seen, Trial

SHAPES = ((7,), (3, 5), (1, 6), (3, 4, 5), (2, 3, 4, 5), (2, 2, 3, 4, 5))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_layouts_keep_values_and_are_told_as_they_are(shape: tuple[int, ...]) -> None:
    """The expression of a layout makes the very view; only "expanded" means other values."""
    tensor = torch.arange(torch.Size(shape).numel()).view(shape)
    names = list(fitting(tensor))
    assert "storage offset" in names
    for name in names:
        view = arrange(tensor, name)
        told: torch.Tensor = eval(arranging("x", tensor, name), {"x": tensor, "torch": torch})
        assert torch.equal(told, view)
        assert (told.stride(), told.storage_offset()) == (view.stride(), view.storage_offset())
        is_dense = (view.stride(), view.storage_offset()) == (tensor.stride(), 0)
        assert not is_dense, name
        assert name == "expanded" or torch.equal(view, tensor)


@pytest.mark.parametrize("name", list(LAYOUTS))
@pytest.mark.parametrize("shape", [(), (1,), (0,), (1, 1, 1)], ids=str)
def test_layout_that_says_nothing_about_a_tensor_leaves_it(
    name: str, shape: tuple[int, ...]
) -> None:
    """A failing call that shrinks to one element keeps its layout's name, and stays a call."""
    tensor = torch.zeros(shape)
    if name not in fitting(tensor):
        assert arrange(tensor, name) is tensor
        assert arranging("x", tensor, name) == "x"


@pytest.mark.parametrize(
    "tensor",
    [
        torch.zeros(0, 4, dtype=torch.bool),
        torch.ones(3, 5, dtype=torch.uint8),
        torch.tensor(2.5),
        torch.tensor([[1.0, torch.nan], [-torch.inf, -0.0]], dtype=torch.float64),
        torch.arange(300, dtype=torch.int16).view(20, 15),
        torch.rand(9, 9, generator=torch.Generator().manual_seed(0)).bfloat16(),
    ],
    ids=lambda tensor: f"{tensor.dtype}",
)
def test_tensor_is_written_out_exactly(tensor: torch.Tensor) -> None:
    """What is printed makes the same tensor, signs of zero included."""
    told: torch.Tensor = eval(tensor_expression(tensor), {"torch": torch})
    assert (told.dtype, told.shape) == (tensor.dtype, tensor.shape)
    torch.testing.assert_close(told, tensor, rtol=0, atol=0, equal_nan=True)
    assert torch.equal(told.signbit(), tensor.signbit())


def test_call_can_be_pasted() -> None:
    """Tensors in lists, options by name and a view come out as they went in."""
    x = torch.arange(6).view(2, 3)
    probe = Probe((x, [x + 1], 2), {"mode": "a"}, layouts={0: "transposed"})
    seen: dict[str, Any] = {}
    seen["op"] = lambda *args, **kwargs: seen.update(args=args, kwargs=kwargs)
    exec(as_python(probe, "op"), seen)
    assert torch.equal(seen["args"][0], x)
    assert seen["args"][0].stride() == (1, 2)
    assert torch.equal(seen["args"][1][0], x + 1)
    assert (seen["args"][2], seen["kwargs"]) == (2, {"mode": "a"})


def test_large_call_is_told_by_its_recipe() -> None:
    """A tensor of noise too large for a line is made anew by where it came from."""
    noise = torch.rand(100_000, generator=torch.Generator().manual_seed(0))
    probe = Probe((noise,), recipe="args, kwargs = (make(),), {}")
    told = as_python(probe, "op")
    assert told == "import torch\nargs, kwargs = (make(),), {}\nop(*args, **kwargs)"
    assert "too large" in as_python(replace(probe, recipe=""), "op")


def test_words_name_the_circumstance_that_divides() -> None:
    """All that fail have it, none that pass do."""
    trials = [trial(True, dtype="half", size="1"), trial(False, dtype="single", size="1")]
    assert explain(trials) == (
        "fails on 1 of 2 calls: all of those with dtype half, on none with single"
    )


def test_words_name_the_narrowest_circumstance_when_none_divides() -> None:
    """Of those that all failing calls share, the one that fewest passing calls have."""
    trials = [
        trial(True, spacing="unequal", background="present"),
        trial(False, spacing="unequal", background="present"),
        trial(False, spacing="equal", background="present"),
        trial(False, spacing="equal", background="absent"),
    ]
    assert explain(trials) == (
        "fails on 1 of 4 calls, only with spacing unequal (right with spacing equal)"
    )


def trial(is_failing: bool, **traits: str) -> Trial:
    """A trial of nothing, with its circumstances."""
    return Trial(Probe((), {}, traits), Seen("wrong" if is_failing else None))
