"""Load an operator's library into this process, once.

A second copy of the same operator in one process aborts it: what is registered is looked at first.
"""

from pathlib import Path
from threading import RLock

import torch

from kernels.build import build
from kernels.build.store import digest_of
from kernels.folder import OperatorFolder
from kernels.operator import OperatorSpec

_lock = RLock()
_loaded: dict[str, str] = {}
"""SHA-256, at the time, of the libraries that were loaded here, by their paths."""
_registered_by: dict[str, str] = {}
"""SHA-256 of the library by qualified operator name, `namespace::name.overload`."""


class LibraryConflictError(RuntimeError):
    """Another library has registered the operator in this process already."""


def load_operator(spec: OperatorSpec, path: Path) -> None:
    """Load the library that registers every schema of a spec; a second call does nothing.

    Raises:
        FileNotFoundError: no such library.
        LibraryConflictError: a library of other content registered one of them before.
        RuntimeError: the library cannot be loaded, or did not register all of them.
    """
    _load(path.resolve(), tuple(schema.split("(", 1)[0] for schema in spec.schemas))


def load_library(path: Path, namespace: str, name: str) -> None:
    """Load the library that registers `namespace::name`; a second call does nothing.

    Args:
        path: the library; the same content may lie under several paths.
        namespace: of the operator.
        name: of the operator, with its overload if it has one: `connected_components.out`.

    Raises:
        FileNotFoundError, LibraryConflictError, RuntimeError: as `load_operator`.
    """
    _load(path.resolve(), (f"{namespace}::{name}",))


def ensure_loaded(folder_path: Path, namespace: str, name: str) -> None:
    """Build and load the operator of a folder, unless this process has it already."""
    if f"{namespace}::{name}" not in _registered():
        folder = OperatorFolder(folder_path.resolve(), folder_path.name)
        load_library(build(folder).library, namespace, name)


def _load(path: Path, operators: tuple[str, ...]) -> None:
    if not path.is_file():
        expected = ", ".join(operators)
        raise FileNotFoundError(f"{path}: expected the library of {expected}, found no file")
    digest = digest_of(path)
    with _lock:
        before = _registered()
        for operator in before.intersection(operators):
            _refuse_another(operator, path, digest)
        if digest not in _digests():
            _open(path, digest, before)
        missing = [name for name in operators if name not in _registered()]
    if missing:
        raise RuntimeError(f"{path}: was loaded and did not register {', '.join(missing)}")


def _open(path: Path, digest: str, before: frozenset[str]) -> None:
    try:
        torch.ops.load_library(path)  # type: ignore[no-untyped-call]
    except OSError as error:
        raise RuntimeError(f"{path}: cannot be loaded: {error.__cause__ or error}") from error
    _loaded[str(path)] = digest
    _registered_by.update(dict.fromkeys(_registered() - before, digest))


def _refuse_another(operator: str, path: Path, digest: str) -> None:
    """What is registered has to come from this very content, by us or by a model's own loader."""
    known = _registered_by.get(operator)
    if known == digest or (known is None and digest in _digests()):
        return
    raise LibraryConflictError(
        f"{operator} is registered already, by a library of other content "
        f"(sha256 {known[:16] if known else 'unknown'}) than {path} (sha256 {digest[:16]}); "
        "a process can hold one version: start a new one"
    )


def _registered() -> frozenset[str]:
    """Qualified names of all operators of this process, whoever registered them."""
    return frozenset(torch._C._dispatch_get_all_op_names())


def _digests() -> set[str]:
    """Of all libraries that torch loaded: ours as they were, others' as they now lie there."""
    others = (Path(path) for path in torch.ops.loaded_libraries if path not in _loaded)
    ours = {*_loaded.values(), *_registered_by.values()}
    return {*ours, *(digest_of(path) for path in others if path.is_file())}
