"""What the files of an operator's folder declare: plain data and callables, no framework.

Every implementation of one operator - reference, compositions, library adapters, the kernel - takes
the same leading arguments and returns the same kind of result, so that any can stand in for any
other. Options are keyword-only; a composition or a library takes those that it can serve.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Implementation = Callable[..., Any]

Context = Literal["inference_graph", "training_step"]
Claim = Literal["latency", "accuracy"]


@dataclass(frozen=True)
class Tolerance:
    """Largest accepted |result - reference| = absolute + relative * |reference|."""

    absolute: float
    relative: float
    reason: str


@dataclass(frozen=True)
class OperatorSpec:
    """Plain facts on an operator; `spec.py` holds one as `SPEC`."""

    name: str
    """Name of the folder, of the function in `op.py` and of the handle that a workload asks for."""
    summary: str
    schemas: tuple[str, ...]
    """Registered schemas, `namespace::name(...) -> ...`; empty when none is registered."""
    contexts: tuple[Context, ...]
    claim: Claim
    is_differentiable: bool
    """Whether gradients flow to the first argument."""
    dtypes: tuple[str, ...]
    """torch dtype names accepted for the first argument, such as "bool"."""
    num_spatial_dims: tuple[int, ...]
    tolerances: Mapping[str, Tolerance]
    """By torch dtype name of the first argument; "default" serves all others."""
    bytes_per_voxel: float
    """Least memory traffic: every input read once, every output written once."""
    flops_per_voxel: float
    """Least arithmetic of the best known algorithm."""
    source: str
    """Paper or document that defines the result."""


@dataclass(frozen=True)
class Composition:
    """One way to the result from standard PyTorch operators; `standard.py` holds COMPOSITIONS."""

    name: str
    call: Implementation
    summary: str


@dataclass(frozen=True)
class Library:
    """An open-source library that does the job; `alternatives.py` holds LIBRARIES."""

    name: str
    distribution: str
    """Name of the distribution on the package index; its version is read from the installation."""
    licence: str
    load: Callable[[], Implementation]
    """Import the library and return the adapter; ImportError when it is absent."""
    is_differentiable: bool = False


@dataclass(frozen=True)
class OperatorCase:
    """One named input; `cases.py` holds CASES. Tests, validator and benchmark share them."""

    name: str
    make: Callable[[], tuple[tuple[Any, ...], dict[str, Any]]]
    """Fresh positional and keyword arguments; seeded, so that every call gives the same values."""


def takes_options(call: Implementation, names: Iterable[str]) -> bool:
    """Whether an implementation has all of these parameters; true where it does not tell."""
    try:
        parameters = inspect.signature(call).parameters
    except (TypeError, ValueError):  # such as a function of C
        return True
    takes_any = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    return takes_any or set(names) <= set(parameters)
