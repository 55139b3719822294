"""Which registered operators a call reaches, and with what."""

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from stages.numerics.comparison import map_tensors, tensors

Call = tuple[Any, tuple[Any, ...], dict[str, Any]]


class _Listener(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Keeps the calls of the named operators."""

    def __init__(self, names: set[str]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.names = names
        self.calls: list[Call] = []

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if func.name().split(".")[0] in self.names:
            self.calls.append((func, args, kwargs))
        return func(*args, **kwargs)


def registered_calls(
    call: Any, inputs: Any, names: set[str], leaves: list[torch.Tensor]
) -> list[Call]:
    """What reaches the dispatcher, forward, and backward to `leaves`, tensors of the inputs."""
    args, kwargs = inputs
    places = {leaf.data_ptr() for leaf in leaves}
    with _Listener(names) as listener:
        if leaves:
            for leaf in leaves:
                leaf.requires_grad_()
            outputs = [out for out in tensors(call(*args, **kwargs)) if out.requires_grad]
            torch.autograd.grad([out.sum() for out in outputs], leaves, allow_unused=True)
        else:
            with torch.no_grad():
                call(*args, **kwargs)
    return [
        (
            operator,
            *map_tensors(_fresh(places if operator is listener.calls[0][0] else set()), rest),
        )
        for operator, *rest in listener.calls
    ]


def _fresh(asking: set[int]) -> Callable[[torch.Tensor], torch.Tensor]:
    """Copies; of those that asked for a gradient, copies that ask for one."""

    def copy(tensor: torch.Tensor) -> torch.Tensor:
        made = tensor.detach().clone()
        return made.requires_grad_() if tensor.data_ptr() in asking else made

    return copy
