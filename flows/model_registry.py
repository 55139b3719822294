"""The packed model into the registry: logged, loaded in a fresh process, then registered."""

import re
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from importlib.metadata import version
from io import StringIO
from pathlib import Path
from typing import Any

from flows.child import run_child
from flows.dvc import child_environment
from flows.failures import ModelRefusedError
from flows.last_run import LastRun
from flows.tracking import Store
from stages.contract import ModelResult, Stage, folder, load_parameters, read_if_taken

CHAMPION = "champion"
WRAP = "wrap.py"
EXAMPLE = "example.npz"
_REQUIRED = ("mlflow", "numpy", "torch")
_UNWANTED_ADVICE = (
    "Any type hint is inferred as AnyType",
    "Add type hints to the `predict` method",
    "An input example was not provided",
)
_LOAD_LIMIT_S = 600.0
# run with -I and in an empty folder: nothing of this clone is on its path, no operator is loaded
_LOAD_AND_PREDICT = """
import sys
import mlflow, numpy
mlflow.set_tracking_uri(sys.argv[1])
model = mlflow.pyfunc.load_model(sys.argv[2])
with numpy.load(sys.argv[3]) as example:
    prediction = model.predict(example["image"])
    for name in ("mask", "report"):
        expected, found = example[name], prediction[name]
        if (expected.ndim, expected.dtype) != (found.ndim, found.dtype):
            sys.exit(f"{name}: expected {expected.dtype} with {expected.ndim} axes, as in the "
                     f"example, got {found.dtype} with {found.ndim}")
"""


@dataclass(frozen=True)
class Registered:
    """A version in the registry."""

    name: str
    version: str
    is_champion: bool


def register_present(store: Store, run: str) -> Registered | None:
    """Register the model that `produce_model` packed, once for each content.

    `run` is the MLflow run that a new version is logged to. The alias `champion` goes to a version
    that met every target.

    Returns:
        The version; None where no model was packed.

    Raises:
        ModelRefusedError: the model does not load or predict in a fresh process.
    """
    result = read_if_taken(Stage.produce_model, ModelResult)
    if result is None:
        return None
    name = registered_name()
    number = _find(store, name, result.content_hash)
    if number is None:
        uri = _log(result, run)
        _load_in_fresh_process(store, uri)
        number = _register(store, name, uri, result, run)
    is_champion = all(target.is_met is True for target in result.targets)
    if is_champion:
        store.client.set_registered_model_alias(name, CHAMPION, number)
    return Registered(name, number, is_champion)


def last_run(store: Store, parent: str, model: Registered | None) -> LastRun:
    """What the screens say of a run and its model."""
    if model is None:
        return LastRun(store.uri, parent)
    return LastRun(store.uri, parent, model.name, model.version, model.is_champion)


def registered_name() -> str:
    """The workload's module, by its last part: `lesion_segmentation`."""
    module = load_parameters().training.workload.split(":")[0]
    return re.sub(r"[^\w-]", "_", module.rsplit(".", 1)[-1])


def _find(store: Store, name: str, content_hash: str) -> str | None:
    for found in store.client.search_model_versions(f"name = '{name}'"):
        if found.tags.get("breakeven.content_hash") == content_hash:
            return str(found.version)
    return None


def _log(result: ModelResult, run: str) -> str:
    """Log as models-from-code: no pickle, the files as they were packed."""
    import mlflow

    place = folder(Stage.produce_model)
    packed = [file for file in result.files if Path(file).name != WRAP]
    with mlflow.start_run(run_id=run), _without_advice():
        info = mlflow.pyfunc.log_model(
            name="model",
            python_model=str(place / WRAP),
            artifacts={Path(file).stem: str(place / file) for file in packed},
            signature=_signature(result),
            pip_requirements=[f"{name}=={version(name).split('+')[0]}" for name in _REQUIRED],
            metadata={"input_example": f"artifacts/{EXAMPLE}"},
        )
    return str(info.model_uri)


@contextmanager
def _without_advice() -> Iterator[None]:
    """Pass on every warning of MLflow but those that ask for what is not wanted here.

    The signature is explicit; and a full-size example as JSON takes 100 MB, so that it is packed as
    a file, which the fresh process predicts. A filter does not do: MLflow sets one of its own.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        if not any(advice in str(warning.message) for advice in _UNWANTED_ADVICE):
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )


def _signature(result: ModelResult) -> Any:
    """Images (N, C, *spatial) to mask and report; the package itself is strict about sizes."""
    import numpy
    from mlflow.models import ModelSignature
    from mlflow.types import Schema, TensorSpec

    _, num_channels, *spatial = result.input_shape
    free = [-1 for _ in spatial]
    images = TensorSpec(numpy.dtype(numpy.float32), (-1, num_channels, *free))
    mask = TensorSpec(numpy.dtype(numpy.uint8), free, "mask")
    report = TensorSpec(numpy.dtype(numpy.float32), (-1, -1), "report")
    return ModelSignature(inputs=Schema([images]), outputs=Schema([mask, report]))


def _load_in_fresh_process(store: Store, uri: str) -> None:
    example = (folder(Stage.produce_model) / EXAMPLE).resolve()
    with tempfile.TemporaryDirectory() as empty:
        ended = run_child(
            [sys.executable, "-I", "-c", _LOAD_AND_PREDICT, store.uri, uri, str(example)],
            cwd=Path(empty),
            env=child_environment(),
            on_line=lambda line: None,
            time_limit_s=_LOAD_LIMIT_S,
        )
    if ended.status != 0:
        raise ModelRefusedError(
            f"the packed model does not load and predict in a fresh process, so it was not "
            f"registered (exit {ended.status}): " + " | ".join(ended.lines[-3:])
        )


def _register(store: Store, name: str, uri: str, result: ModelResult, run: str) -> str:
    import mlflow

    tags = {
        "breakeven.content_hash": result.content_hash,
        "breakeven.verdict": str(result.verdict),
        "breakeven.run": run,
    }
    with redirect_stderr(StringIO()):  # it prints what our own last screen says
        registered = mlflow.register_model(uri, name, tags=tags)
    return str(registered.version)
