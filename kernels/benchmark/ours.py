"""Our operator as an entrant: with a result of its own each time, and into a reused one."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import torch

from kernels.benchmark.graphs import Work, refuse_unknown
from kernels.benchmark.scene import REUSING, Call, Entrant, Inputs, NotApplicableError
from kernels.benchmark.work import result_only
from kernels.operator import Implementation

NAME = "ours"


def our_entrants(load: Callable[[], Implementation], work: Work = result_only) -> Iterator[Entrant]:
    """Allocating and `out=`; `load` builds and loads the operator's library."""

    def allocating(inputs: Inputs) -> Call:
        operator = load()
        refuse_unknown(operator, inputs)
        return lambda: work(operator, inputs)

    def reusing(inputs: Inputs) -> Call:
        operator = load()
        if work is not result_only:
            raise NotApplicableError("a gradient is allocated by autograd")
        if "out" not in inspect.signature(operator).parameters:
            raise NotApplicableError("its public function takes no out")
        out: Any = operator(*inputs.args, **inputs.keywords)
        if not isinstance(out, torch.Tensor):
            raise NotApplicableError("out holds one result, and this scene has several")
        return lambda: operator(*inputs.args, **inputs.keywords, out=out)

    yield Entrant(NAME, "ours", allocating)
    yield Entrant(NAME, "ours", reusing, output=REUSING)
