"""The operator's real inputs, and a stand-in that costs nothing."""

import pytest
import torch
from torch import Tensor

from stages.contract import InputError, Operators
from stages.measuring.capture import capture
from stages.measuring.substitution import stand_in


def double(x: Tensor, *, times: float = 2.0) -> Tensor:
    """An operator."""
    return x * times


def test_captures_every_call_in_order() -> None:
    """Positional and keyword inputs and outputs of each call, as they were at that moment."""

    def run(operators: Operators) -> None:
        x = torch.ones(3)
        operators["double"](x)
        x += 1  # must not reach what was kept
        operators["double"](x, times=3.0)

    first, second = capture("double", double, run, "inference_graph")
    assert torch.equal(first.args[0], torch.ones(3))
    assert torch.equal(first.output, torch.full((3,), 2.0))
    assert second.kwargs == {"times": 3.0}
    assert torch.equal(second.output, torch.full((3,), 6.0))
    assert first.gradient is None


def test_workload_that_never_calls_the_operator_is_refused() -> None:
    """The message names handle and context."""
    with pytest.raises(InputError, match=r"call operators\['double'\] in its training step"):
        capture("double", double, lambda operators: None, "training_step")


def test_stand_in_returns_what_was_recorded_over_and_over() -> None:
    """The n-th call gets the n-th output, whatever goes in."""
    calls = capture(
        "double",
        double,
        lambda operators: [operators["double"](torch.full((2,), float(i))) for i in range(2)],
        "inference_graph",
    )
    replay = stand_in(calls)
    outputs = [replay(torch.zeros(2))[0].item() for _ in range(4)]
    assert outputs == [0.0, 2.0, 0.0, 2.0]


def test_stand_in_hands_the_recorded_gradient_back() -> None:
    """The rest of a training step goes on as if the operator were there."""
    weight = torch.tensor([1.0, 2.0], requires_grad=True)

    def run(operators: Operators) -> Tensor:
        loss: Tensor = operators["double"](weight * 3).sum()
        return loss

    calls = capture("double", double, run, "training_step")
    expected = torch.autograd.grad(run({"double": double}), weight)[0]
    loss = run({"double": stand_in(calls)})
    assert torch.equal(loss.detach(), run({"double": double}).detach())
    assert torch.equal(torch.autograd.grad(loss, weight)[0], expected)


def test_repeat_includes_the_backward_pass() -> None:
    """Repeating a call that required a gradient gives the gradient."""
    x = torch.ones(3, requires_grad=True)
    (call,) = capture("double", double, lambda operators: operators["double"](x), "training_step")
    assert torch.equal(call.repeat(lambda x: x * 5), torch.full((3,), 5.0))
