"""Compositions of standard operators in each form in which a product may run them.

Exported: the program of `torch.export`, interpreted as `program.module()` does. Compiled: by
`torch.compile`; AOTInductor makes the same loops ahead of time.
"""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import torch

from kernels.benchmark.plan import Plan
from kernels.benchmark.scene import Call, Entrant, Form, Inputs, NotApplicableError, Scene
from kernels.benchmark.time_limit import within
from kernels.folder import OperatorFolder
from kernels.operator import Implementation

Work = Callable[[Implementation, Inputs], Any]
"""Call an implementation with the inputs; a differentiable one with its gradient."""

_made: dict[Any, Implementation] = {}
"""Graphs by what they were made for: they serve every input of one shape."""


def composition_entrants(
    folder: OperatorFolder, scene: Scene, plan: Plan, work: Work
) -> Iterator[Entrant]:
    """Every composition of the operator's `standard.py`, in the forms that the scene asks for."""
    if not scene.with_compositions:
        return
    forms: list[Form] = ["eager"]
    if scene.with_graphs and "inference_graph" in folder.spec.contexts:
        forms.append("exported")
    if scene.with_graphs and plan.compile_limit_s:
        forms.append("compiled")
    for composition in folder.compositions:
        for form in forms:
            yield Entrant(
                composition.name,
                "composition",
                _Preparation(composition.call, form, work, plan.compile_limit_s),
                form=form,
            )


class _Preparation:
    """Bring a composition into its form."""

    def __init__(
        self, call: Implementation, form: Form, work: Work, compile_limit_s: float
    ) -> None:
        self._call, self._form, self._work = call, form, work
        self._compile_limit_s = compile_limit_s

    def __call__(self, inputs: Inputs) -> Call:
        refuse_unknown(self._call, inputs)
        if self._form == "eager":
            return lambda: self._work(self._call, inputs)
        key = (self._call, self._form, inputs.args[0].shape, repr(inputs.keywords))
        if key not in _made:
            _made[key] = self._make(inputs)
        return lambda: self._work(_made[key], inputs)

    def _make(self, inputs: Inputs) -> Implementation:
        if self._form == "exported":
            rest, keywords = inputs.args[1:], inputs.keywords
            module = _OneCall(lambda first: self._call(first, *rest, **keywords))
            program = torch.export.export(module, (inputs.args[0],), strict=False).module()
            return lambda first, *_, **__: program(first)
        from torch._inductor import config

        # A pool of compiling processes would disturb what is timed meanwhile.
        config.compile_threads = 1
        torch._dynamo.reset()
        compiled = torch.compile(self._call, dynamic=False)
        with within(self._compile_limit_s):
            self._work(compiled, inputs)
        return compiled


class _OneCall(torch.nn.Module):
    """A graph of one call."""

    def __init__(self, call: Callable[[Any], Any]) -> None:
        super().__init__()
        self._call = call

    def forward(self, first: Any) -> Any:
        """Call it."""
        return self._call(first)


def refuse_unknown(call: Implementation, inputs: Inputs) -> None:
    """Some implementations take only a part of the operator's options.

    Raises:
        NotApplicableError: an option of the input is not among the parameters.
    """
    unknown = sorted(inputs.keywords.keys() - inspect.signature(call).parameters.keys())
    if unknown:
        raise NotApplicableError(f"takes no {', '.join(unknown)}")
