"""From the chosen implementation to a callable that a workload can use."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from kernels.folder import OperatorFolder, open_operator
from kernels.operator import Composition, Library
from stages.contract.errors import InputError
from stages.contract.files import folder
from stages.contract.graph import Stage
from stages.contract.results import Implementation, Rung
from stages.contract.workload import Operators

SomeOption = TypeVar("SomeOption", Composition, Library)


def open_chosen(name_or_path: str) -> OperatorFolder:
    """Open an operator's folder.

    Raises:
        InputError: there is no such operator, or its folder lacks a file of the contract.
    """
    try:
        return open_operator(name_or_path)
    except (FileNotFoundError, FileExistsError) as error:
        raise InputError(f"params.yaml: algorithm.operator: {error}") from error


def operators_for(operator: OperatorFolder, chosen: Implementation) -> Operators:
    """Handles with the chosen implementation inside; none on the rung "none".

    Loads the built library on the custom rung and compiles on the compiled rung (at first call).
    """
    if chosen.rung is Rung.none:
        return {}
    return {operator.spec.name: implementation_of(operator, chosen)}


def implementation_of(operator: OperatorFolder, chosen: Implementation) -> Callable[..., Any]:
    """The callable of one implementation.

    Raises:
        InputError: the operator's folder has no implementation of that name.
    """
    if chosen.rung is Rung.custom:
        load_built(operator)
        return operator.custom
    if chosen.rung is Rung.library:
        return _named(operator.libraries, chosen.name).load()
    composition = _named(operator.compositions, chosen.name).call
    if chosen.rung is Rung.compiled:
        import torch

        compiled: Callable[..., Any] = torch.compile(composition, fullgraph=True, dynamic=False)
        return compiled
    return composition


def built_library(operator: OperatorFolder) -> Path | None:
    """The library that `build_operator` made; None for an operator without C++ sources."""
    if not operator.sources:
        return None
    return folder(Stage.build_operator) / f"{operator.spec.name}.so"


def load_built(operator: OperatorFolder) -> None:
    """Load the library that `build_operator` made, once a process."""
    library = built_library(operator)
    if library is not None:
        from kernels.load import load_operator

        load_operator(operator.spec, library)


def _named(options: tuple[SomeOption, ...], name: str) -> SomeOption:
    for option in options:
        if option.name == name:
            return option
    raise InputError(f"expected an implementation among {[o.name for o in options]}, got {name}")
