"""A stand-in that costs nothing: end-to-end time without the operator is measured, not
subtracted."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from stages.measuring.capture import Call


class _Remembered(torch.autograd.Function):
    """Returns a recorded output, and hands a recorded gradient back."""

    @staticmethod
    def forward(
        ctx: Any, first: torch.Tensor, output: torch.Tensor, gradient: torch.Tensor
    ) -> torch.Tensor:
        ctx.save_for_backward(gradient)
        return output.view_as(output)

    @staticmethod
    def backward(ctx: Any, *_: Any) -> tuple[torch.Tensor, None, None]:
        """The recorded gradient as it is: scaling it would cost what the operator is to be rid
        of."""
        return ctx.saved_tensors[0], None, None


def stand_in(calls: Sequence[Call]) -> Callable[..., Any]:
    """A handle that answers the n-th call with the n-th recorded output, over and over."""
    recorded = itertools.cycle(calls)

    def replay(*args: Any, **kwargs: Any) -> Any:
        call = next(recorded)
        if call.gradient is None:
            return call.output
        return _Remembered.apply(args[0], call.output, call.gradient)  # type: ignore[no-untyped-call]

    return replay
