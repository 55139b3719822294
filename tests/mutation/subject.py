"""The correct operators that faults are planted in: three of the published contracts, whose sources
lie beside this file, and the three bundled ones."""

import importlib
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kernels
from kernels.build import BuildFailed, build
from kernels.folder import BUNDLED, OperatorFolder
from kernels.load import load_operator
from stages.numerics.folder_process import target_of
from stages.numerics.promise import with_recipes
from stages.numerics.trial import Target

OWN = Path(__file__).with_name("operators")
COMPILE = ("g++", "-O2", "-std=c++17", "-shared", "-fPIC", "-pthread")
NAMESPACE = "mutation"


@dataclass(frozen=True)
class Subject:
    """A correct operator."""

    name: str
    sources: tuple[Path, ...]
    """Files or folders that make it up, relative to `root`."""
    root: Path
    place: Path
    """Where a copy lies, in a folder of its own."""
    open_target: Callable[[Path, int], Target]
    """Builds the operator in a copy of its folder, loads it, and says what it promises, by seed."""

    def copy(self, folder: Path) -> None:
        """Lay out the sources in a folder that does not exist yet."""
        folder.mkdir(parents=True)
        for path in self.sources:
            target = folder / path.relative_to(self.root)
            if path.is_dir():
                shutil.copytree(path, target, ignore=shutil.ignore_patterns("__pycache__", "*.cu"))
            else:
                shutil.copy(path, target)


def own(base: str) -> Subject:
    """An operator of this folder: `<base>.cpp`, and `<base>.py` with `load(library, namespace)`."""

    def open_target(folder: Path, seed: int) -> Target:
        call = _load_module(folder / f"{base}.py").load(_compiled(folder, base), NAMESPACE)
        source = f"from stages.numerics.promises.{base} import promise as make\n"
        make = importlib.import_module(f"stages.numerics.promises.{base}").promise
        return Target(
            call=call,
            promise=with_recipes(make(seed), f"{source}promise = make({seed})"),
            name=f"torch.ops.{NAMESPACE}.{base}",
            schemas=(f"{NAMESPACE}::{base}",),
            seed=seed,
        )

    return Subject(base, (OWN / f"{base}.cpp", OWN / f"{base}.py"), OWN, Path(base), open_target)


def _compiled(folder: Path, base: str) -> Path:
    library = folder / f"{base}.so"
    command = [*COMPILE, "-o", str(library), str(folder / f"{base}.cpp")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BuildFailed(done.stderr)
    return library


def _load_module(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(f"mutation_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def bundled(name: str) -> Subject:
    """An operator of the product; the copy takes its place in the package `kernels`."""
    root = BUNDLED / name
    sources = sorted(path for path in root.iterdir() if path.name != "__pycache__")

    def open_target(folder: Path, seed: int) -> Target:
        os.environ["BREAKEVEN_BUILD_DIR"] = str(folder.parents[1] / "built")
        _take_place(folder)
        operator = OperatorFolder(folder, f"kernels.{name}")
        load_operator(operator.spec, build(operator).library)
        return target_of(operator, "cpu", seed)

    return Subject(name, tuple(sources), root, Path("kernels") / name, open_target)


def _take_place(folder: Path) -> None:
    """Have this process, and those that it starts, import the operator from the copy."""
    loaded = [name for name in sys.modules if name.startswith(f"kernels.{folder.name}")]
    if loaded:
        raise RuntimeError(f"{folder.name} is loaded before its plant: {', '.join(loaded)}")
    kernels.__path__.insert(0, str(folder.parent))
    for path in BUNDLED.iterdir():
        if path.name not in (folder.name, "__pycache__"):
            (folder.parent / path.name).symlink_to(path)
    paths = (str(folder.parents[1]), str(BUNDLED.parent), os.environ.get("PYTHONPATH"))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))


SUBJECTS = {
    subject.name: subject
    for subject in (
        *map(own, ("ccl", "edt", "wdice")),
        *map(bundled, ("connected_components", "distance_transform", "lesion_loss")),
    )
}
