"""What comes from outside - data, operator, workload - judged before a run, by its files alone."""

import importlib.util
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

from kernels.inspection import defines, inspect_operator
from stages.contract import InputError


def check_data(source: Path, origin: str) -> None:
    """Refuse what `ingest_data` would not recognise; no image is read.

    Raises:
        InputError: neither a phantom's recipe nor a folder in a known layout.
    """
    from stages.imaging.layouts import recognise
    from stages.imaging.phantom_recipe import read_recipe

    try:
        if source.suffix in (".yaml", ".yml"):
            read_recipe(source)
        else:
            recognise(source)
    except InputError as error:
        raise InputError(f"{origin}: {error}") from error
    except OSError as error:
        raise InputError(f"{origin}: {source}: cannot be read ({error.strerror})") from error


def check_operator(folder: Path, origin: str) -> None:
    """Refuse a folder that does not hold an operator; only its `spec.py` is executed.

    Raises:
        InputError: a file or a name of the contract is missing, or `spec.py` fails.
    """
    try:
        inspect_operator(folder)
    except (OSError, ValueError) as error:
        raise InputError(
            f"{origin}: {error}. kernels/distance_transform is an example to copy"
        ) from error


def check_workload(name: str, origin: str) -> Path:
    """Refuse a workload whose module or factory is not there; the module is not imported.

    Args:
        name: `module:factory`.

    Returns:
        Its file, or its folder where it is a package.

    Raises:
        InputError: no such module, not a file of Python, or it does not define the factory.
    """
    module, factory = name.split(":")
    path = Path(_locate(module, origin))
    try:
        is_there = path.suffix != ".py" or defines(path, factory)
    except ValueError as error:
        raise InputError(f"{origin}: {error}") from error
    if not is_there:
        raise InputError(
            f"{origin}: expected {path} to define {factory}, a function that returns a "
            f"stages.contract.Workload; found none"
        )
    return path.parent if path.stem == "__init__" else path


def _locate(module: str, origin: str) -> str:
    """The file of a module; packages around it are imported on the way."""
    spec: ModuleSpec | None = None
    reason = ""
    try:
        spec = importlib.util.find_spec(module)
    except ImportError:
        pass  # a package around it is not there
    except Exception as error:  # whatever a foreign package does
        reason = f" ({type(error).__name__}: {error})"
    if spec is None or spec.origin is None or not spec.has_location:
        searched = ", ".join(entry for entry in sys.path if not entry.startswith(sys.base_prefix))
        raise InputError(
            f"{origin}: found no module {module} on {searched}{reason}; add its folder to "
            f"PYTHONPATH"
        )
    return spec.origin
