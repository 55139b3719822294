"""From an operator's sources to a library: compiled once per content, on the stable ABI."""

from kernels.build.cuda import CudaBuilt, CudaNotBuilt, compile_cuda
from kernels.build.failure import BuildFailed
from kernels.build.library import Built, build
from kernels.build.symbols import undefined_torch_symbols

__all__ = [
    "BuildFailed",
    "Built",
    "CudaBuilt",
    "CudaNotBuilt",
    "build",
    "compile_cuda",
    "undefined_torch_symbols",
]
