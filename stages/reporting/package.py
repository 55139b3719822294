"""Pack a trained model: exported report graph, operator, loader, facts and an example, as files."""

import hashlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from kernels.folder import OperatorFolder
from stages.contract import DataShape, Implementation, Rung, built_library
from stages.reporting import serve

HERE = Path(__file__).parent
GRAPH, WRAP, SERVE, FACTS, EXAMPLE = "graph.pt2", "wrap.py", "serve.py", "model.json", "example.npz"
OPERATOR_FOLDER = "operator"


@dataclass(frozen=True)
class Contents:
    """What goes into a package besides the graph."""

    shape: DataShape
    implementation: Implementation
    operator: OperatorFolder | None
    """The custom operator, where the graph calls it."""
    report_columns: Sequence[str]
    label_names: Sequence[str]
    channel_names: Sequence[str]
    deployment: str
    device: str
    data_digest: str


def write_package(
    folder: Path, program: torch.export.ExportedProgram, contents: Contents
) -> tuple[tuple[str, ...], str]:
    """Write all files but the example; their names, the graph first, and the content's hash.

    The hash is over what the model computes: the graph's code, weights and constants, the operator,
    the loader and the facts. The bytes of `graph.pt2` are left out, since an archive's layout is
    not part of its content.
    """
    folder.mkdir(parents=True, exist_ok=True)
    operator = _copy_operator(folder, contents.operator)
    torch.export.save(program, folder / GRAPH)
    shutil.copyfile(HERE / "wrap.py.txt", folder / WRAP)
    shutil.copyfile(HERE / SERVE, folder / SERVE)
    shape = contents.shape
    facts = {
        "input_shape": [1, shape.num_channels, *shape.case_shape],
        "spacing_mm": list(shape.spacing_mm),
        "fit": shape.fit,
        "channel_names": list(contents.channel_names),
        "label_names": list(contents.label_names),
        "report_columns": list(contents.report_columns),
        "implementation": contents.implementation.model_dump(mode="json"),
        "compile": contents.implementation.rung is Rung.compiled,
        "operator": operator,
        "deployment": contents.deployment,
        "device": contents.device,
        "torch": torch.__version__,
        "data_digest": contents.data_digest,
    }
    content_hash = _hash_content(program, facts, (folder / WRAP, folder / SERVE))
    text = json.dumps({**facts, "content_hash": content_hash}, indent=2, ensure_ascii=False)
    (folder / FACTS).write_text(text + "\n", "utf-8")
    files = (GRAPH, WRAP, SERVE, FACTS, EXAMPLE)
    return (*files, operator["file"]) if operator else files, content_hash


def open_folder(folder: Path, files: Sequence[str]) -> serve.Package:
    """Open the package as its user would."""
    return serve.open_package({Path(name).stem: folder / name for name in files})


def predict_one(package: serve.Package, image: NDArray[Any]) -> serve.Prediction:
    """The report on one case (C, *case_shape)."""
    prediction = package.predict(image[None])
    assert isinstance(prediction, dict)
    return prediction


def write_example(folder: Path, image: NDArray[Any], prediction: serve.Prediction) -> None:
    """Keep an input (1, C, *case_shape) and what the model makes of it."""
    mask, report = prediction["mask"], prediction["report"]
    np.savez_compressed(folder / EXAMPLE, image=image, mask=mask, report=report)


def _copy_operator(folder: Path, operator: OperatorFolder | None) -> dict[str, Any] | None:
    """The compiled library, or for an operator in Python its folder."""
    if operator is None:
        return None
    namespace, name = operator.spec.schemas[0].split("(")[0].split("::")
    library = built_library(operator)
    if library is not None:
        file = library.name
        shutil.copyfile(library, folder / file)
        digest = hashlib.sha256(library.read_bytes()).hexdigest()
    else:
        file = OPERATOR_FOLDER
        ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
        shutil.copytree(operator.path, folder / file, ignore=ignored, dirs_exist_ok=True)
        digest = _hash_folder(folder / file)
    return {"namespace": namespace, "name": name, "file": file, "sha256": digest}


def _hash_folder(folder: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = file.read_bytes()
        digest.update(f"{file.relative_to(folder).as_posix()}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def _hash_content(
    program: torch.export.ExportedProgram, facts: dict[str, Any], files: Sequence[Path]
) -> str:
    digest = hashlib.sha256()
    digest.update(program.graph_module.code.encode())
    for name, value in sorted({**program.state_dict, **program.constants}.items()):
        digest.update(f"\0{name}\0".encode())
        if isinstance(value, torch.Tensor):
            array = value.detach().cpu().contiguous().numpy()
            digest.update(f"{array.dtype} {array.shape}".encode() + array.tobytes())
    digest.update(json.dumps(facts, sort_keys=True).encode())
    for file in files:
        digest.update(f"\0{file.name}\0".encode() + file.read_bytes())
    return digest.hexdigest()
