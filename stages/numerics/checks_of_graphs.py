"""Checks of the registration: shape rule, schema, compilation and export."""

from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from stages.contract import NumericsCheck
from stages.numerics.comparison import compare, map_tensors, tensors, tolerance_for
from stages.numerics.exporting import CallModule, check_export, summarise
from stages.numerics.subject import Subject, copy_inputs, failed, passed

NOT_REGISTERED = "not asked of an operator that registers no schema"


def check_fake(subject: Subject) -> NumericsCheck:
    """The shape rule says what the kernel does: shape, dtype and strides."""
    if not subject.operator.spec.schemas:
        return passed("fake", 0, NOT_REGISTERED)
    for count, (case, inputs) in enumerate(subject.cases, start=1):
        with torch.no_grad(), FakeTensorMode() as mode:
            args, kwargs = map_tensors(mode.from_tensor, inputs)
            promised = [_shape(t) for t in tensors(subject.operator.custom(*args, **kwargs))]
        returned = [_shape(t) for t in tensors(subject.call(inputs))]
        if promised != returned:
            detail = (
                f"{case}: promised {promised[0]}, returned {returned[0]} (shape, strides, dtype)"
            )
            return failed("fake", count, detail)
    return passed("fake", len(subject.cases), "shape, strides and dtype as promised")


def check_schema(subject: Subject) -> NumericsCheck:
    """`torch.library.opcheck` on every registered operator that the public function calls."""
    names = {schema.split("(")[0] for schema in subject.operator.spec.schemas}
    if not names:
        return passed("opcheck", 0, NOT_REGISTERED)
    cases, seen = subject.some_cases(3), set()
    for count, (case, inputs) in enumerate(cases, start=1):
        for operator, args, kwargs in _registered_calls(subject, copy_inputs(inputs), names):
            seen.add(operator.name())
            try:
                torch.library.opcheck(operator, args, kwargs)
            except Exception as error:  # opcheck raises its own kinds, by test
                return failed("opcheck", count, f"{case}: {summarise(error, 300)}")
    if not seen:
        return failed("opcheck", len(cases), f"the public function never calls {', '.join(names)}")
    return passed("opcheck", len(cases), ", ".join(sorted(seen)))


def check_compiled(subject: Subject) -> NumericsCheck:
    """Compiled into one graph it gives what it gives eagerly."""
    if not subject.operator.spec.schemas:
        return passed("compiled", 0, NOT_REGISTERED)
    cases = subject.some_cases(3)
    for count, (case, inputs) in enumerate(cases, start=1):
        module = CallModule(subject.operator.custom, copy_inputs(inputs))
        torch._dynamo.reset()
        compiled = torch.compile(module, fullgraph=True, dynamic=False, backend="aot_eager")
        try:
            with torch.no_grad():
                result = compiled(*module.tensors)
        except Exception as error:  # whatever a pass of the compiler raises
            return failed("compiled", count, f"{case}: {summarise(error, 300)}")
        tolerance = tolerance_for(subject.operator.spec.tolerances, inputs)
        found = compare(result, subject.call(inputs), tolerance)
        if not found.is_within:
            return failed("compiled", count, f"{case}: {found.detail}", found.largest)
    return passed("compiled", len(cases), "one graph, the same result")


def check_exported(subject: Subject) -> NumericsCheck:
    """Exported, saved and loaded it gives what it gives eagerly."""
    if not subject.operator.spec.schemas:
        return passed("exported", 0, NOT_REGISTERED)
    cases = subject.some_cases(2)
    for count, (case, inputs) in enumerate(cases, start=1):
        tolerance = tolerance_for(subject.operator.spec.tolerances, inputs)
        outcome = check_export(subject.operator.custom, copy_inputs(inputs), tolerance)
        if not outcome.passed:
            return failed("exported", count, f"{case}: {outcome.reason}")
    return passed("exported", len(cases), "the same result after reload")


class _Listener(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Keeps the calls of the named operators."""

    def __init__(self, names: set[str]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.names = names
        self.calls: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = []

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


def _registered_calls(
    subject: Subject, inputs: Any, names: set[str]
) -> list[tuple[Any, tuple[Any, ...], dict[str, Any]]]:
    """What reaches the dispatcher; the first argument asks for a gradient where there is one."""
    args, kwargs = inputs
    with _Listener(names) as listener:
        if subject.operator.spec.is_differentiable:
            output = subject.operator.custom(args[0].requires_grad_(), *args[1:], **kwargs)
            torch.autograd.grad(output.sum(), args[0])
        else:
            subject.call(inputs)
    calls = []
    for operator, given, named in listener.calls:
        fresh = map_tensors(lambda tensor: tensor.detach().clone(), given)
        if subject.operator.spec.is_differentiable and operator is listener.calls[0][0]:
            fresh[0].requires_grad_()
        calls.append((operator, fresh, named))
    return calls


def _shape(tensor: torch.Tensor) -> tuple[tuple[int, ...], tuple[int, ...], torch.dtype]:
    return tuple(tensor.shape), tensor.stride(), tensor.dtype
