"""A probe: one call of an operator, small enough to be told, with what is special about it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

from stages.numerics.layouts import arrange

Inputs = tuple[tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True)
class Probe:
    """The arguments of one call."""

    args: tuple[Any, ...]
    """Tensors in them are contiguous; `layouts` says how they are laid out when called."""
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    traits: Mapping[str, str] = field(default_factory=dict)
    """What is special, by aspect: {"pattern": "checkerboard", "dtype": "uint8"}."""
    layouts: Mapping[int, str] = field(default_factory=dict)
    """Name of a layout by place among the tensors; contiguous where there is none."""
    recipe: str = ""
    """Python that makes the arguments, for tensors too large to be written out: lines, the last of
    which binds `args, kwargs`."""

    @property
    def tensors(self) -> list[torch.Tensor]:
        """All tensors among the arguments, in order."""
        leaves, _ = tree_flatten((self.args, dict(self.kwargs)))
        return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]

    @property
    def num_elements(self) -> int:
        """Elements of the largest tensor."""
        return max((tensor.numel() for tensor in self.tensors), default=0)

    def inputs(self) -> Inputs:
        """Fresh arguments, laid out as they are to be."""
        place = -1

        def make(tensor: torch.Tensor) -> torch.Tensor:
            nonlocal place
            place += 1
            return arrange(tensor.detach().clone(), self.layouts.get(place))

        return self._mapped(make)

    def plain(self) -> Inputs:
        """Fresh contiguous copies of what `inputs` holds."""
        args, kwargs = self.inputs()
        leaves, structure = tree_flatten((args, kwargs))
        copies = [
            leaf.clone(memory_format=torch.contiguous_format)
            if isinstance(leaf, torch.Tensor)
            else leaf
            for leaf in leaves
        ]
        plain: Inputs = tree_unflatten(copies, structure)
        return plain

    def with_tensors(self, change: Callable[[torch.Tensor], torch.Tensor]) -> "Probe":
        """The same call with every tensor changed."""
        args, kwargs = self._mapped(change)
        return replace(self, args=args, kwargs=kwargs, recipe="")

    def with_tensor(self, place: int, tensor: torch.Tensor) -> "Probe":
        """The same call with one tensor replaced, by its place among the tensors."""
        seen = -1

        def swap(old: torch.Tensor) -> torch.Tensor:
            nonlocal seen
            seen += 1
            return tensor if seen == place else old

        return self.with_tensors(swap)

    def noting(self, **traits: str) -> "Probe":
        """The same call with more said about it."""
        return replace(self, traits={**self.traits, **traits})

    def _mapped(self, change: Callable[[torch.Tensor], torch.Tensor]) -> Inputs:
        leaves, structure = tree_flatten((self.args, dict(self.kwargs)))
        changed = [change(leaf) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        inputs: Inputs = tree_unflatten(changed, structure)
        return inputs


def dtype_name(dtype: torch.dtype) -> str:
    """Such as "uint8"."""
    return str(dtype).removeprefix("torch.")
