"""What the battery examines, and what every check shares."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from kernels.folder import OperatorFolder, open_operator
from kernels.load import load_operator
from stages.contract import Figure, NumericsCheck, known, unknown
from stages.numerics.comparison import Inputs, by_size, first_tensor, map_tensors, tensors


@dataclass(frozen=True)
class Subject:
    """The operator under test on its device."""

    operator: OperatorFolder
    device: str

    @cached_property
    def cases(self) -> tuple[tuple[str, Inputs], ...]:
        """Named inputs on the device, smallest first."""
        return tuple(
            (case.name, self.to_device(inputs)) for case, inputs in by_size(self.operator.cases)
        )

    def some_cases(
        self, count: int, least: int = 2, most: int = 50_000
    ) -> list[tuple[str, Inputs]]:
        """Up to `count` cases with `least` to `most` elements, spread over the sizes."""
        fitting = [c for c in self.cases if least <= first_tensor(c[1]).numel() <= most]
        if len(fitting) <= count:
            return fitting
        steps = [round(i * (len(fitting) - 1) / max(count - 1, 1)) for i in range(count)]
        return [fitting[step] for step in steps]

    def call(self, inputs: Inputs) -> Any:
        """The operator itself, without gradients."""
        with torch.no_grad():
            return self.operator.custom(*inputs[0], **inputs[1])

    def truth(self, inputs: Inputs) -> Any:
        """What the float64 reference says; it sees a copy on the CPU."""
        args, kwargs = map_tensors(lambda tensor: tensor.detach().cpu().clone(), inputs)
        return self.operator.reference(*args, **kwargs)

    def to_device(self, inputs: Inputs) -> Inputs:
        """The same inputs, strides kept, on the device."""
        moved: Inputs = map_tensors(lambda tensor: tensor.to(self.device), inputs)
        return moved


Check = Callable[[Subject], NumericsCheck]


def open_subject(folder: str, library: Path | None, device: str) -> Subject:
    """Open the operator and load its library, if it has one."""
    operator = open_operator(folder)
    if library is not None:
        load_operator(operator.spec, library)
    return Subject(operator, device)


def passed(name: str, num_cases: int, detail: str, largest: float | None = None) -> NumericsCheck:
    """A check that found nothing."""
    return NumericsCheck(
        name=name,
        passed=True,
        num_cases=num_cases,
        largest_error=_largest(largest),
        detail=detail,
    )


def failed(name: str, num_cases: int, detail: str, largest: float | None = None) -> NumericsCheck:
    """A check that found a fault; `detail` names the smallest case."""
    return NumericsCheck(
        name=name,
        passed=False,
        num_cases=num_cases,
        largest_error=_largest(largest),
        detail=detail,
    )


def copy_inputs(inputs: Inputs) -> Inputs:
    """Fresh contiguous copies of all tensors."""
    copied: Inputs = map_tensors(
        lambda tensor: tensor.detach().clone(memory_format=torch.contiguous_format), inputs
    )
    return copied


def poison_memory(like: Any) -> None:
    """Leave garbage in the memory that the next result of this size is likely to get."""
    for tensor in tensors(like):
        torch.full((tensor.numel() * tensor.element_size() + 1,), 0xA5, dtype=torch.uint8)


def _largest(value: float | None) -> Figure:
    if value is None:
        return unknown("this check compares no values")
    return (
        known(value)
        if value != float("inf")
        else unknown("infinite or missing where it must not be")
    )
