"""What compilers and linkers say, and what of it is told."""

import pytest

from kernels.build.messages import count_warnings, find_errors, quote


@pytest.mark.parametrize(
    "line",
    [
        "a.cpp:2:10: error: 'nothing' was not declared in this scope",
        "a.cpp:1:10: fatal error: nope.h: No such file or directory",
        'b.cu(3): error: identifier "nothing" is undefined',
        "nvcc fatal   : Unsupported gpu architecture 'compute_10'",
        "ptxas fatal   : Unresolved extern function 'f'",
        "a.cpp:(.text+0x5): undefined reference to `nowhere(int)'",
        "/usr/bin/ld: cannot find -lnowhere: No such file or directory",
    ],
)
def test_errors_of_every_tool_are_found(line: str) -> None:
    """g++, clang, nvcc, ptxas and ld; once each, without what they say around them."""
    around = (
        f"a.cpp: In function 'int f()':\n{line}\n    2 |   return nothing;\n      |  ^\n{line}\n"
    )
    assert find_errors(around) == (line,)


def test_warnings_are_counted_once_each() -> None:
    """nvcc says each for every architecture; the linker's are of torch's own libraries."""
    first = "a.cpp:3:4: warning: unused variable\nb.cu(3): warning #177-D: never referenced\n"
    again = "b.cu(3): warning #177-D: never referenced\nnvcc warning : The -x is deprecated\n"
    linker = "/usr/bin/ld: warning: libcublas.so.13, needed by libtorch_cuda.so, not found\n"
    assert count_warnings([first, again, linker, "  3 | f(); // warning\n"]) == 3


def test_long_lists_are_cut() -> None:
    """Ten are quoted; fewer are quoted whole."""
    errors = tuple(f"error {number}" for number in range(12))
    assert quote(errors[:10]).splitlines() == list(errors[:10])
    assert quote(errors).splitlines()[9:] == ["error 9", "and 2 more"]
