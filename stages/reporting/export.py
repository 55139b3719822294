"""Export the report graph with the best implementation inside that an exported graph can hold."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import NamedTuple

import torch
from torch import nn

from kernels.folder import OperatorFolder
from kernels.form import exporting_for_a_compiler
from stages.contract import Implementation, InputError, Operators, Rung, operators_for


class Exported(NamedTuple):
    """A report graph, and what is in it."""

    program: torch.export.ExportedProgram
    implementation: Implementation
    note: str
    """What a person should know of it; empty when the chosen implementation is inside."""


def export_best(
    make_report: Callable[[Operators], nn.Module],
    operator: OperatorFolder,
    chosen: Implementation,
    image: torch.Tensor,
) -> Exported:
    """The graph for an image (1, C, *case_shape), on the image's device.

    A compiled composition is exported as it is and compiled when it is loaded. A library that
    cannot be exported is replaced by the best composition that can.

    Raises:
        InputError: none of them can be exported.
    """
    failures = []
    for option in _options(operator, chosen):
        is_compiled = option.rung is Rung.compiled
        inside = option.model_copy(update={"rung": Rung.standard}) if is_compiled else option
        report = make_report(operators_for(operator, inside)).to(image.device)
        form = exporting_for_a_compiler() if is_compiled else nullcontext()
        try:
            with form:
                program = export_report(report, image)
        except Exception as error:  # the exporter raises whatever its passes raise
            first = (str(error).strip().splitlines() or [""])[0]
            failures.append(f"{option.name or 'the report'}: {type(error).__name__}: {first}")
            continue
        note = f" {failures[0]}: packed with {option.name} instead." if failures else ""
        return Exported(program, option, note)
    raise InputError(
        f"training.workload: expected a report graph that torch.export takes; {'; '.join(failures)}"
    )


def _options(operator: OperatorFolder, chosen: Implementation) -> Iterator[Implementation]:
    """What to try in turn; nothing where the operator is no part of the inference graph."""
    if "inference_graph" not in operator.spec.contexts:
        chosen = Implementation(rung=Rung.none, name="")
    yield chosen
    if chosen.rung is Rung.library:
        for composition in operator.compositions:
            yield Implementation(rung=Rung.standard, name=composition.name)


def export_report(report: nn.Module, image: torch.Tensor) -> torch.export.ExportedProgram:
    """The report graph with static shapes; image (1, C, *case_shape), which is not kept in it.

    Raises:
        Exception: whatever the exporter raises.
    """
    with torch.no_grad():
        program = torch.export.export(report.eval(), (image,), strict=False)
    program.example_inputs = None  # saved with the graph otherwise: one case, as large as all else
    return program
