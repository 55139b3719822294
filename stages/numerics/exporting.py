"""Does a module that calls an implementation pass `torch.export`, and is it the same after
reload?"""

import contextlib
import io
import logging
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_flatten, tree_unflatten

from kernels.operator import Tolerance
from stages.numerics.comparison import Inputs, compare
from stages.numerics.comparison import tensors as find_tensors

Implementation = Callable[..., Any]
WHOLE_GRAPH = Tolerance(
    absolute=1e-4,
    relative=1e-4,
    reason="the same float32 operators in the same order, but the tracer may decompose some",
)


@dataclass(frozen=True)
class Outcome:
    """Whether it went well, and if not, why."""

    passed: bool
    reason: str | None = None


class CallModule(nn.Module):
    """Calls an implementation with its tensors as inputs and everything else fixed."""

    def __init__(self, implementation: Implementation, inputs: Inputs) -> None:
        super().__init__()
        self.implementation = implementation
        self._leaves, self._structure = tree_flatten(inputs)
        self._places = [i for i, leaf in enumerate(self._leaves) if isinstance(leaf, torch.Tensor)]
        self.tensors = tuple(self._leaves[place] for place in self._places)
        for place in self._places:
            self._leaves[place] = None

    def forward(self, *tensors: torch.Tensor) -> Any:
        """Put the tensors in their places and call."""
        leaves = list(self._leaves)
        for place, tensor in zip(self._places, tensors, strict=True):
            leaves[place] = tensor
        args, kwargs = tree_unflatten(leaves, self._structure)
        return self.implementation(*args, **kwargs)


def check_export(implementation: Implementation, inputs: Inputs, tolerance: Tolerance) -> Outcome:
    """Export, save, load, and compare with eager execution; on the inputs, and on them reversed.

    The reversed inputs catch a graph in which a result, rather than the way to it, was baked in.
    """
    module = CallModule(implementation, inputs)
    try:
        with torch.no_grad(), quietly():
            reloaded = export_and_reload(module, module.tensors)
            first = module.tensors[0]
            others = (first.flip(-1) if first.dim() else first, *module.tensors[1:])
            for tensors in (module.tensors, others):
                difference = compare(reloaded(*tensors), module(*tensors), tolerance)
                if not difference.is_within:
                    return Outcome(False, f"differs after reload: {difference.detail}")
    except Exception as error:  # the exporter raises whatever its passes raise
        return Outcome(False, summarise(error))
    return Outcome(True)


def export_and_reload(module: nn.Module, tensors: tuple[torch.Tensor, ...]) -> nn.Module:
    """The module as a deployment would get it: exported, written, read, and made callable again."""
    file = io.BytesIO()
    with quietly():
        torch.export.save(torch.export.export(module, tensors), file)
        file.seek(0)
        reloaded: nn.Module = torch.export.load(file).module()
    return reloaded


def find_graph_difference(exported: Any, eager: Any) -> str | None:
    """What a whole graph returns otherwise after export, beyond single precision; None if
    nothing."""
    return compare(exported, eager, WHOLE_GRAPH).detail or None


def export_call(implementation: Implementation, inputs: Inputs) -> Implementation:
    """The implementation as an exported graph runs it, for tensors of these shapes."""
    module = CallModule(implementation, inputs)
    with torch.no_grad():
        reloaded = export_and_reload(module, module.tensors)
    return lambda *args, **kwargs: reloaded(*find_tensors((args, kwargs)))


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Keep the tracers' graphs, hints and warnings to themselves: the outcome holds the reason."""
    silent = io.StringIO()
    logging.disable(logging.WARNING)
    try:
        with (
            contextlib.redirect_stdout(silent),
            contextlib.redirect_stderr(silent),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)


def summarise(error: Exception, limit: int = 200) -> str:
    """The first telling line of an exception that may run over pages."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = f"{type(error).__name__}: {lines[0] if lines else ''}"
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
