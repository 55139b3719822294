"""The operator's real inputs: run the workload once with a handle that records what it is given."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils._pytree import tree_map

from stages.contract import InputError, Operators

Implementation = Callable[..., Any]


@dataclass(frozen=True)
class Call:
    """One call of the operator in the workload: what went in, what came out."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    output: Any
    gradient: torch.Tensor | None
    """Of the output's sum with respect to the first argument, where that required one."""

    def repeat(self, implementation: Implementation) -> Any:
        """Call an implementation with the same inputs, backward pass included where there was
        one."""
        if self.gradient is None:
            with torch.no_grad():
                return implementation(*self.args, **self.kwargs)
        first = self.args[0].detach().requires_grad_()
        output = implementation(first, *self.args[1:], **self.kwargs)
        return torch.autograd.grad(output.sum(), first)[0]


@dataclass
class _Recorder:
    implementation: Implementation
    calls: list[Call] = field(default_factory=list)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        output = self.implementation(*args, **kwargs)
        kept_args, kept_kwargs, kept_output = tree_map(_keep, (args, kwargs, output))
        self.calls.append(Call(kept_args, kept_kwargs, kept_output, self._gradient(args, kwargs)))
        return output

    def _gradient(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.Tensor | None:
        first = args[0] if args else None
        if not (
            isinstance(first, torch.Tensor) and first.requires_grad and torch.is_grad_enabled()
        ):
            return None
        leaf = first.detach().requires_grad_()
        output = self.implementation(leaf, *args[1:], **kwargs)
        if not output.requires_grad:
            return None
        return torch.autograd.grad(output.sum(), leaf)[0]


def capture(
    name: str, implementation: Implementation, run: Callable[[Operators], object], context: str
) -> tuple[Call, ...]:
    """All calls that one run of the workload makes, in order.

    Args:
        name: of the handle that the workload asks for.
        implementation: a right one; the workload goes on with what it returns.
        run: one inference or one training step with the given handles.
        context: named in the error.

    Raises:
        InputError: the workload never calls the operator.
    """
    recorder = _Recorder(implementation)
    run({name: recorder})
    if not recorder.calls:
        raise InputError(
            f"expected the workload to call operators[{name!r}] in its "
            f"{context.replace('_', ' ')}; it never did: use the handle there, "
            f"or choose another algorithm.operator"
        )
    return tuple(recorder.calls)


def _keep(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, torch.Tensor) else value
