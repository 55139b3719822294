"""Operators written into a temporary folder: right, wrong, crashing, hanging, not compiling."""

from pathlib import Path

SPEC = """
from kernels.operator import OperatorSpec, Tolerance
SPEC = OperatorSpec(
    name="{name}", summary="twice", schemas=(), contexts=("inference_graph",), claim="latency",
    is_differentiable=False, dtypes=("int32", "float32"), num_spatial_dims=(2,),
    tolerances={{"default": Tolerance(0.0, 1e-6, "for the test")}},
    bytes_per_voxel=8, flops_per_voxel=1, source="the test",
)
"""
CASES = """
import torch
from kernels.operator import OperatorCase
def make(rows, columns):
    x = torch.arange(rows * columns, dtype=torch.float32).reshape(1, 1, rows, columns) + 1
    return lambda: ((x.clone(),), {})
CASES = tuple(OperatorCase(f"{n}x{m}", make(n, m)) for n, m in ((1, 1), (3, 5), (8, 9)))
"""


def write_operator(folder: Path, body: str, sources: str | None = None) -> Path:
    """A Python operator whose public function has this body; with C++ sources if given.

    Args:
        folder: its name is the operator's.
        body: of `def <name>(x)`, may use torch, os and signal.
    """
    folder.mkdir(parents=True)
    (folder / "spec.py").write_text(SPEC.format(name=folder.name))
    (folder / "reference.py").write_text("def reference(x):\n    return x.double() * 2\n")
    (folder / "cases.py").write_text(CASES)
    (folder / "standard.py").write_text(
        "from kernels.operator import Composition\n"
        'COMPOSITIONS = (Composition("sum", lambda x: x + x, "a sum"),)\n'
    )
    (folder / "op.py").write_text(
        f"import os, signal, torch\n\n\ndef {folder.name}(x):\n    {body}\n"
    )
    if sources is not None:
        (folder / "csrc").mkdir()
        (folder / "csrc" / f"{folder.name}.cpp").write_text(sources)
    return folder
