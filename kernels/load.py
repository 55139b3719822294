"""Load an operator's library into this process, once.

A second copy of the same operator in one process aborts it: what is registered is looked at first.
"""

import hashlib
from pathlib import Path

import torch

from kernels.build import build
from kernels.folder import OperatorFolder

_loaded: dict[str, str] = {}
"""SHA-256 of the library by qualified operator name."""


class LibraryConflictError(RuntimeError):
    """Another library has registered the operator in this process already."""


def load_library(path: Path, namespace: str, name: str) -> None:
    """Load the library that registers `namespace::name`; a second call does nothing.

    Raises:
        FileNotFoundError: no such library.
        LibraryConflictError: a library of other content registered the operator before.
        RuntimeError: the library was loaded and did not register the operator.
    """
    path = path.resolve()
    operator = f"{namespace}::{name}"
    if not path.is_file():
        raise FileNotFoundError(f"{path}: expected the library of {operator}, found no file")
    digest = _digest(path)
    if _is_registered(namespace, name):
        known = _loaded.get(operator)
        if digest != known and digest not in _foreign_digests():
            raise LibraryConflictError(
                f"{operator} is registered already, by a library of other content "
                f"(sha256 {known[:16] if known else 'unknown'}) than {path} "
                f"(sha256 {digest[:16]}); a process can hold one version: start a new one"
            )
        _loaded[operator] = digest
        return
    torch.ops.load_library(path)  # type: ignore[no-untyped-call]
    if not _is_registered(namespace, name):
        raise RuntimeError(f"{path}: was loaded and did not register {operator}")
    _loaded[operator] = digest


def ensure_loaded(folder_path: Path, namespace: str, name: str) -> None:
    """Build and load the operator of a folder, unless this process has it already."""
    if not _is_registered(namespace, name):
        folder = OperatorFolder(folder_path.resolve(), folder_path.name)
        load_library(build(folder).library, namespace, name)


def _is_registered(namespace: str, name: str) -> bool:
    return hasattr(getattr(torch.ops, namespace), name)


def _foreign_digests() -> set[str]:
    """Digests of the libraries that others loaded through torch, such as a model's own loader."""
    return {_digest(path) for path in map(Path, torch.ops.loaded_libraries) if path.is_file()}


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
