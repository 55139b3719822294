"""Which form a composition takes while it is traced: for a compiler, or to be run as it stands.

`torch.compiler.is_compiling()` is true under `torch.export` too. Yet an exported program is often
run by `program.module()`, one operator after the other, with nothing fused: a reduction written for
a compiler then goes through memory again and again (15 s instead of 0.6 s for the distance
transform of 182x218x182), and to time that form is to make the standard operators lose. So a plain
export counts as interpreted; whoever hands the program to a compiler says so.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

# A plain global: dynamo traces and guards it, which it does not a ContextVar.
_is_for_a_compiler = False


def wants_fused_loops() -> bool:
    """Whether a compiler will fuse what is traced now.

    True under `torch.compile`, and under `torch.export` within `exporting_for_a_compiler()`; false
    in eager mode and under plain `torch.export`.
    """
    if not torch.compiler.is_compiling():
        return False
    return _is_for_a_compiler or not torch.compiler.is_exporting()


@contextmanager
def exporting_for_a_compiler() -> Iterator[None]:
    """Export within it what AOTInductor, or `torch.compile` of the loaded program, will compile.

    Without it a compiler may refuse: torch 2.13's Inductor takes no `map` around a `while_loop`,
    which interpreted loops over slabs are. One flag for the process, not one a thread.
    """
    global _is_for_a_compiler
    before = _is_for_a_compiler
    _is_for_a_compiler = True
    try:
        yield
    finally:
        _is_for_a_compiler = before
