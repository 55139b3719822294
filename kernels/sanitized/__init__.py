"""Call an operator under the sanitizers of memory and arithmetic, and say what they find."""

from kernels.sanitized.report import Finding
from kernels.sanitized.watch import Watched, watch

__all__ = ["Finding", "Watched", "watch"]
