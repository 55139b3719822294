"""The operator's own sources, built with AddressSanitizer and UBSan, on all of its cases."""

from pathlib import Path

from kernels.build import BuildFailed
from kernels.folder import OperatorFolder
from kernels.sanitized import watch
from stages.contract import NumericsCheck, unknown

SANITIZERS = "sanitizers"
"""Name of this check."""


def check_sanitizers(
    operator: OperatorFolder, time_limit_s: float, directory: Path | None = None
) -> NumericsCheck:
    """Whether a build that ends at the first fault of memory or arithmetic gets through.

    Args:
        operator: with C++ sources that compile.
        time_limit_s: for this build and for its calls, each.
        directory: of built libraries; None for the user's.
    """
    try:
        watched = watch(operator, directory, time_limit_s=time_limit_s)
    except BuildFailed as error:  # it does compile without: the sanitizers are what is missing
        return _answer(f"not asked: no build with sanitizers. {error}", 0, 0.0)
    if watched.finding is not None:
        return _answer(str(watched.finding), watched.num_calls, watched.seconds, passed=False)
    levels = ", ".join(level for level in watched.levels if level)
    detail = "no fault of memory or arithmetic under AddressSanitizer and UBSan"
    detail += f" ({levels})" if levels else ""
    return _answer(detail, watched.num_calls, watched.seconds)


def _answer(detail: str, num_calls: int, seconds: float, passed: bool = True) -> NumericsCheck:
    return NumericsCheck(
        name=SANITIZERS,
        passed=passed,
        num_cases=num_calls,
        largest_error=unknown("this check compares no values"),
        detail=detail,
        seconds=seconds,
    )
