"""Repeat a step until nothing changes, in eager mode and in a traced graph alike."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch._higher_order_ops.while_loop import while_loop


def until_stable(step: Callable[[Tensor], Tensor], start: Tensor) -> Tensor:
    """Apply `step` until its result equals its argument; a graph gets a `while_loop`.

    Args:
        step: pure; keeps shape and dtype, and never returns its argument itself.
        start: first argument.
    """
    if not torch.compiler.is_compiling():
        before, after = start, step(start)
        while not torch.equal(before, after):
            before, after = after, step(after)
        return after

    def goes_on(is_changed: Tensor, state: Tensor) -> Tensor:
        return is_changed.clone()

    def advance(is_changed: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        after = step(state)
        return (after != state).any(), after

    is_changed = torch.ones((), dtype=torch.bool, device=start.device)
    result: Tensor = while_loop(  # type: ignore[no-untyped-call]
        goes_on, advance, (is_changed, start)
    )[1]
    return result
