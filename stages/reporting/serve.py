"""Load a packed report model and predict with it: torch and NumPy alone.

This file is copied into the package, so that what is measured here is what runs elsewhere.
"""

import hashlib
import importlib
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

Prediction = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Package:
    """A loaded model."""

    graph: Any
    facts: Mapping[str, Any]
    """What `model.json` says."""

    def predict(self, images: NDArray[Any]) -> Prediction | list[Prediction]:
        """Report on one case, or on each of several.

        Args:
            images: (N, C, *spatial), the spatial size that the graph was exported for; where cases
                are padded, a smaller one too, to which zeros are added at the end.

        Returns:
            For one case a dictionary, for several a list of them: "mask" (*spatial) uint8 label
            values, "report" (num_lesions, columns) float32, in the order of `report_columns`.

        Raises:
            ValueError: another shape.
        """
        images = np.asarray(images)
        self._check(images.shape)
        predictions = [self._predict_one(image) for image in images]
        return predictions[0] if len(predictions) == 1 else predictions

    def _predict_one(self, image: NDArray[Any]) -> Prediction:
        native, wanted = image.shape[1:], self.facts["input_shape"][2:]
        missing = [(0, want - have) for want, have in zip(wanted, native, strict=True)]
        # The graph was exported for contiguous memory; arrays read from NIfTI are not.
        whole = np.ascontiguousarray(np.pad(image, [(0, 0), *missing]), np.float32)
        with torch.no_grad():
            mask, report = self.graph(torch.from_numpy(whole)[None].to(self.facts["device"]))
        cropped = mask[0, 0].cpu().numpy()[tuple(slice(0, size) for size in native)]
        return {"mask": np.ascontiguousarray(cropped), "report": report.cpu().numpy()}

    def _check(self, shape: tuple[int, ...]) -> None:
        _, channels, *spatial = self.facts["input_shape"]
        is_padded = self.facts["fit"] == "pad"
        fits = len(shape) == len(spatial) + 2 and shape[0] > 0 and shape[1] == channels
        if fits:
            pairs = list(zip(shape[2:], spatial, strict=True))
            fits = all(0 < have <= want if is_padded else have == want for have, want in pairs)
        if not fits:
            smaller = ", or fewer voxels along any spatial axis" if is_padded else ""
            raise ValueError(
                f"expected images of shape (N, {channels}, {', '.join(map(str, spatial))})"
                f"{smaller}; got {shape}"
            )


def open_package(files: Mapping[str, Path]) -> Package:
    """Open the packed files, given by their names without ending; the operator is loaded if absent.

    Raises:
        RuntimeError: this process holds another version of the operator.
    """
    facts: dict[str, Any] = json.loads(files["model"].read_text("utf-8"))
    operator = facts["operator"]
    if operator is not None:
        load_operator(operator, files[Path(operator["file"]).stem])
    graph: Any = torch.export.load(files["graph"]).module()
    if facts["compile"]:
        graph = torch.compile(graph, dynamic=False)
    return Package(graph, facts)


def load_operator(operator: Mapping[str, Any], source: Path) -> None:
    """Register the operator once: a second library of the same name would abort the process."""
    namespace, name = operator["namespace"], operator["name"]
    if hasattr(getattr(torch.ops, namespace), name):
        loaded = [Path(path) for path in torch.ops.loaded_libraries]
        digests = {_digest(path) for path in loaded if path.is_file()}
        if source.is_file() and operator["sha256"] not in digests:
            raise RuntimeError(
                f"{namespace}::{name} is registered already, by another library than the packed "
                f"one (sha256 {operator['sha256'][:16]}); a process can hold one: start a new one"
            )
        return
    if source.is_dir():
        _import_folder(source)
    else:
        found = _digest(source)
        if found != operator["sha256"]:
            raise RuntimeError(
                f"{source}: expected sha256 {operator['sha256'][:16]}, found {found[:16]}"
            )
        torch.ops.load_library(source)  # type: ignore[no-untyped-call]
    if not hasattr(getattr(torch.ops, namespace), name):
        raise RuntimeError(f"{source}: was loaded and did not register {namespace}::{name}")


def _import_folder(folder: Path) -> None:
    """Import `op.py` as part of a package, whether or not it has an `__init__.py`."""
    package = "packed_operator"
    module = ModuleType(package)
    module.__path__ = [str(folder)]
    sys.modules[package] = module
    importlib.import_module(f"{package}.op")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
