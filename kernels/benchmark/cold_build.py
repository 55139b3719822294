"""How long each operator takes to build from nothing, and what its library needs of torch."""

import tempfile
import time
from pathlib import Path

from kernels.benchmark.results import ColdBuild
from kernels.build import build, undefined_torch_symbols
from kernels.folder import open_operator


def build_cold(operator: str) -> ColdBuild | None:
    """Build into an empty folder; None for an operator without C++ sources."""
    folder = open_operator(operator)
    if not folder.sources:
        return None
    with tempfile.TemporaryDirectory(prefix="breakeven-") as directory:
        began = time.perf_counter()
        built = build(folder, Path(directory))
        seconds = time.perf_counter() - began
        return ColdBuild(operator, seconds, undefined_torch_symbols(built.library), built.compiler)
