"""The process in which a stranger is built, or loaded and examined.

It runs no parallel operator of its own: the checks are forked from it.
"""

import importlib
import importlib.util
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
import torch._dynamo
import torch.export
import torch.testing._internal.optests

from stages.numerics.battery import examine
from stages.numerics.checks import CHECKS
from stages.numerics.promise import with_recipes
from stages.numerics.trial import Target


def load_operator(folder: Path, built: Path) -> Any:
    """What `load` of the folder's `op.py` returns."""
    sys.dont_write_bytecode = True
    spec = importlib.util.spec_from_file_location("breakeven_stranger", folder / "op.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    built.mkdir(parents=True, exist_ok=True)
    return module.load(str(built))


def main(
    task: str, folder: str, base: str, namespace: str, built: str, target: str, seed: str
) -> None:
    """Build the operator; or examine it, one JSON line an answer."""
    operator = load_operator(Path(folder), Path(built))
    if task == "build":
        return
    torch.set_num_threads(1)  # until the fork: probes are made here
    module = f"stages.numerics.promises.{base}"
    source = f"from {module} import promise as make\npromise = make({int(seed)})"
    promise = with_recipes(importlib.import_module(module).promise(int(seed)), source)
    examined = Target(
        call=operator,
        promise=promise,
        name=f"torch.ops.{namespace}.{base}",
        schemas=(f"{namespace}::{base}",),
        seed=int(seed),
    )
    with Path(target).open("a", encoding="utf-8") as file:
        for answer in examine(examined, CHECKS):
            file.write(json.dumps(asdict(answer)) + "\n")
            file.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
