"""Open an operator's folder, bundled or foreign; its files are imported one at a time, on use."""

import importlib
import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from kernels.operator import Composition, Implementation, Library, OperatorCase, OperatorSpec

BUNDLED = Path(__file__).parent
REQUIRED_FILES = ("spec.py", "reference.py", "standard.py", "cases.py", "op.py")
HEADER_SUFFIXES = frozenset({".h", ".hh", ".hpp", ".cuh", ".inc", ".inl"})


@dataclass(frozen=True)
class OperatorFolder:
    """An operator by its folder; reading a property imports only that file."""

    path: Path
    package: str

    def module(self, name: str) -> ModuleType:
        """Import one file of the folder without leaving byte code in a foreign folder."""
        written = sys.dont_write_bytecode
        sys.dont_write_bytecode = written or self.path.parent != BUNDLED
        try:
            return importlib.import_module(f"{self.package}.{name}")
        finally:
            sys.dont_write_bytecode = written

    @property
    def spec(self) -> OperatorSpec:
        """The plain facts."""
        spec: OperatorSpec = self.module("spec").SPEC
        return spec

    @property
    def reference(self) -> Implementation:
        """The slow float64 truth."""
        reference: Implementation = self.module("reference").reference
        return reference

    @property
    def compositions(self) -> tuple[Composition, ...]:
        """Standard compositions, best first; empty when there is none."""
        compositions: tuple[Composition, ...] = self.module("standard").COMPOSITIONS
        return compositions

    @property
    def libraries(self) -> tuple[Library, ...]:
        """Adapters for open-source libraries; empty when the file is absent."""
        if not (self.path / "alternatives.py").is_file():
            return ()
        libraries: tuple[Library, ...] = self.module("alternatives").LIBRARIES
        return libraries

    @property
    def cases(self) -> tuple[OperatorCase, ...]:
        """Named inputs."""
        cases: tuple[OperatorCase, ...] = self.module("cases").CASES
        return cases

    @property
    def refused(self) -> tuple[OperatorCase, ...]:
        """Named inputs that every implementation has to refuse; empty unless the folder has any."""
        refused: tuple[OperatorCase, ...] = getattr(self.module("cases"), "REFUSED", ())
        return refused

    @property
    def custom(self) -> Implementation:
        """The operator itself; its library, if it has one, must be loaded before it is called."""
        custom: Implementation = getattr(self.module("op"), self.spec.name)
        return custom

    @property
    def companions(self) -> tuple[Implementation, ...]:
        """Further functions on its library, `COMPANIONS` of `op.py`; each takes its arguments."""
        companions: tuple[Implementation, ...] = getattr(self.module("op"), "COMPANIONS", ())
        return companions

    @property
    def sources(self) -> tuple[Path, ...]:
        """C++ sources, sorted; empty for an operator in Python or Triton."""
        return tuple(sorted((self.path / "csrc").glob("*.cpp")))

    @property
    def cuda_sources(self) -> tuple[Path, ...]:
        """CUDA sources, sorted; empty for an operator that runs on a CPU alone."""
        return tuple(sorted((self.path / "csrc").glob("*.cu")))

    @property
    def headers(self) -> tuple[Path, ...]:
        """C++ and CUDA headers, sorted."""
        return find_headers(self.path / "csrc")


def find_headers(directory: Path) -> tuple[Path, ...]:
    """C++ and CUDA headers of a folder and those within it, sorted."""
    return tuple(sorted(p for p in directory.rglob("*") if p.suffix in HEADER_SUFFIXES))


def open_operator(name_or_path: str | Path) -> OperatorFolder:
    """Find an operator by the name of a bundled folder or by a folder's path.

    Raises:
        FileNotFoundError: no such folder, or a file of the contract is missing from it.
    """
    path = Path(name_or_path)
    if len(path.parts) == 1 and not path.is_dir():
        path = BUNDLED / path
    path = path.resolve()
    if not path.is_dir():
        bundled = sorted(spec.parent.name for spec in BUNDLED.glob("*/spec.py"))
        raise FileNotFoundError(
            f"expected an operator: one of {', '.join(bundled)}, or a folder's path; "
            f"got {name_or_path}"
        )
    missing = [name for name in REQUIRED_FILES if not (path / name).is_file()]
    if missing:
        raise FileNotFoundError(
            f"{path}: expected the files {', '.join(REQUIRED_FILES)}; missing {', '.join(missing)}"
        )
    if path.parent == BUNDLED:
        return OperatorFolder(path, f"kernels.{path.name}")
    return OperatorFolder(path, _adopt(path))


def _adopt(path: Path) -> str:
    """Make a foreign folder importable as a package, whether or not it has an `__init__.py`."""
    package = f"breakeven_operator_{path.name}"
    if package not in sys.modules:
        module = ModuleType(package)
        module.__path__ = [str(path)]
        sys.modules[package] = module
    elif sys.modules[package].__path__ != [str(path)]:
        raise FileExistsError(
            f"{path}: another folder of this name was opened before, "
            f"{sys.modules[package].__path__[0]}; rename one of them"
        )
    return package
