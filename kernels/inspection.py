"""Does a folder hold what an operator's folder must? Only its `spec.py` is executed."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from kernels.folder import OperatorFolder, open_operator
from kernels.operator import Claim, Context, OperatorSpec

_MUST_DEFINE = {"reference.py": "reference", "standard.py": "COMPOSITIONS", "cases.py": "CASES"}
_CANNOT_TELL = frozenset({"*", "__getattr__"})
"""A module that binds one of these may hold any name."""


def inspect_operator(path: Path) -> None:
    """Refuse a folder that cannot be an operator's, without importing what its files import.

    Raises:
        FileNotFoundError: no such folder, or a file of the contract is missing from it.
        FileExistsError: another folder of this name was opened before in this process.
        ValueError: a file is not Python, or lacks the name that the contract asks of it.
    """
    folder = open_operator(path)
    spec = _read_spec(folder)
    for file, name in {**_MUST_DEFINE, "op.py": spec.name}.items():
        if not defines(folder.path / file, name):
            raise ValueError(f"{folder.path / file}: expected it to define {name}, found none")


def defines(path: Path, name: str) -> bool:
    """Whether a file of Python binds a name at its top level, or may: some only tell when run.

    Raises:
        ValueError: it is not readable as Python.
    """
    try:
        names = frozenset(_bound(ast.parse(path.read_bytes(), str(path))))
    except (OSError, SyntaxError, ValueError) as error:
        raise ValueError(f"{path}: expected a file of Python: {error}") from error
    return name in names or bool(_CANNOT_TELL & names)


def _read_spec(folder: OperatorFolder) -> OperatorSpec:
    file = folder.path / "spec.py"
    expected = f"{file}: expected SPEC, an OperatorSpec of kernels/operator.py"
    try:
        spec: object = folder.spec
    except Exception as error:  # whatever a foreign file may do
        raise ValueError(f"{expected}; it raised {type(error).__name__}: {error}") from error
    if not isinstance(spec, OperatorSpec):
        raise ValueError(f"{expected}; found {type(spec).__name__}")
    if spec.claim not in get_args(Claim):
        raise ValueError(f"{file}: claim must be one of {get_args(Claim)}, got {spec.claim!r}")
    if not spec.contexts or not set(spec.contexts) <= set(get_args(Context)):
        raise ValueError(
            f"{file}: contexts must be some of {get_args(Context)}, got {spec.contexts!r}"
        )
    return spec


def _bound(node: ast.AST) -> Iterator[str]:
    """Names that a module's own statements bind, not those within functions and classes."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield child.name
        elif isinstance(child, ast.alias):
            yield child.asname or child.name.split(".")[0]
        else:
            if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
                yield child.id
            yield from _bound(child)
