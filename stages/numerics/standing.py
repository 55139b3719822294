"""What is found out about one standard implementation before it is timed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from kernels.folder import OperatorFolder
from kernels.operator import takes_options
from stages.contract import Figure
from stages.numerics.comparison import compare, first_tensor, map_tensors, tolerance_for
from stages.numerics.correctness import Truth, check_correctness, is_differentiable
from stages.numerics.exporting import Outcome, check_export, quietly, summarise

CORRECTNESS_LIMIT_S = 12.0
EXPORT_CASE_ELEMENTS = 50_000
NUM_TRACED_CASES = 2


@dataclass(frozen=True)
class Standing:
    """Right, differentiable, exportable: each with what was found."""

    is_right: bool | None
    largest_error: Figure
    detail: str
    is_differentiable: bool | None
    """None where the operator has no gradient."""
    export: Outcome


def find_standing(
    implementation: Callable[..., Any],
    operator: OperatorFolder,
    truths: Sequence[Truth],
    like: torch.Tensor,
    device: str,
) -> Standing:
    """Examine an implementation on the operator's cases; `like` is the real job's first
    argument."""
    truths = [truth for truth in truths if takes_options(implementation, truth.inputs[1])]
    found = check_correctness(implementation, operator, truths, device, CORRECTNESS_LIMIT_S)
    gradient = (
        is_differentiable(implementation, truths, device)
        if operator.spec.is_differentiable
        else None
    )
    export = Outcome(False, "not tried: it is not right")
    if found.is_right:
        case = representative(truths, like)
        inputs = map_tensors(lambda tensor: tensor.to(device), case.inputs)
        tolerance = tolerance_for(operator.spec.tolerances, case.inputs)
        export = check_export(implementation, inputs, tolerance)
    return Standing(found.is_right, found.largest_error, found.detail, gradient, export)


def check_tracing(
    implementation: Callable[..., Any],
    operator: OperatorFolder,
    truths: Sequence[Truth],
    like: torch.Tensor,
    device: str,
) -> Outcome:
    """Whether the compiler's tracer takes it in one graph, and that graph gives the truth.

    Code may take another path when it is compiled: that path is held against the reference here,
    without code generation, on the cases most like the real job.
    """
    served = [truth for truth in truths if takes_options(implementation, truth.inputs[1])]
    chosen = _most_alike(served, like)[-NUM_TRACED_CASES:]
    for truth in chosen:
        torch._dynamo.reset()
        traced = torch.compile(implementation, fullgraph=True, dynamic=False, backend="eager")
        args, kwargs = map_tensors(lambda tensor: tensor.to(device), truth.inputs)
        try:
            with torch.no_grad(), quietly():
                result = traced(*args, **kwargs)
        except Exception as error:  # whatever the tracer raises
            return Outcome(False, f"no single graph: {summarise(error)}")
        finally:
            torch._dynamo.reset()
        tolerance = tolerance_for(operator.spec.tolerances, truth.inputs)
        difference = compare(result, truth.result, tolerance)
        if not difference.is_within:
            return Outcome(False, f"wrong when traced, case {truth.name}: {difference.detail}")
    return Outcome(True)


def representative(truths: Sequence[Truth], like: torch.Tensor) -> Truth:
    """The largest case of moderate size with the rank, and if possible the dtype, of the real
    job."""
    return _most_alike(truths, like)[-1]


def _most_alike(truths: Sequence[Truth], like: torch.Tensor) -> list[Truth]:
    moderate = [t for t in truths if 2 <= first_tensor(t.inputs).numel() <= EXPORT_CASE_ELEMENTS]
    candidates = moderate or list(truths)
    alike = [t for t in candidates if first_tensor(t.inputs).dim() == like.dim()]
    same = [t for t in alike if first_tensor(t.inputs).dtype == like.dtype]
    return same or alike or candidates
