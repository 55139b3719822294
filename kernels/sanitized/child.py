"""The watched process: `python -m kernels.sanitized.child FOLDER LIBRARY PROGRESS THREADS`.

Each call is written down before it is made, so that whoever reads the file after this process was
ended knows which call ended it.
"""

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from kernels.folder import OperatorFolder, open_operator
from kernels.load import load_operator
from kernels.operator import OperatorCase, takes_options
from kernels.sanitized.calls import Variant, at_level, levels_of, takes_out, variants_of
from kernels.sanitized.truths import Truths, WrongResultError


@dataclass
class Journal:
    """Lines of JSON in a file that outlives this process."""

    path: Path
    num_calls: int = 0
    _handle: int = field(init=False)

    def __post_init__(self) -> None:
        self._handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def begin(self, call: str) -> None:
        """Say which call is about to be made."""
        self.num_calls += 1
        self.write(call=call)

    def write(self, **facts: object) -> None:
        """Append one line; nothing is kept back in a buffer."""
        os.write(self._handle, json.dumps(facts).encode() + b"\n")


def main(folder: str, library: str, progress: str, threads: str) -> None:
    """Make all calls; the last line of the journal says what came of it."""
    operator = open_operator(folder)
    load_operator(operator.spec, Path(library))
    journal = Journal(Path(progress))
    first = operator.cases[0].make()
    levels = levels_of(operator, lambda: operator.custom(*first[0], **first[1]))
    try:
        for case in operator.cases:
            _call_all(operator, case, levels, tuple(map(int, threads.split(","))), journal)
    except Exception as error:  # whatever the operator raises on a case of its own is a finding
        kind = "wrong result" if isinstance(error, WrongResultError) else type(error).__name__
        journal.write(kind=kind, detail=" ".join(str(error).split())[:500])
        return
    journal.write(levels=levels, num_calls=journal.num_calls, num_cases=len(operator.cases))


def _call_all(
    operator: OperatorFolder,
    case: OperatorCase,
    levels: tuple[str, ...],
    thread_counts: tuple[int, ...],
    journal: Journal,
) -> None:
    """One case in all variants; in other dtypes with the first number of threads alone."""
    variants = tuple(variants_of(case, operator.spec.dtypes))
    truths = Truths(operator, case)
    for thread_count in thread_counts:
        torch.set_num_threads(thread_count)
        for level in levels:
            how = f"{level or 'one instruction set'}, {thread_count} threads"
            with at_level(level):
                for variant in variants:
                    if variant.truth is None and thread_count != thread_counts[0]:
                        continue
                    call = f"{case.name}, {variant.name}, {how}"
                    for name, result in _results(operator, variant, call, journal):
                        truths.check(name, result, variant)


def _results(
    operator: OperatorFolder, variant: Variant, call: str, journal: Journal
) -> Iterator[tuple[str, Any]]:
    """The result, with its gradient; the same into `out`; and what companions do."""
    (first, *others), options = variant.inputs
    journal.begin(call)
    if operator.spec.is_differentiable:
        leaf = first.detach().requires_grad_()
        result = operator.custom(leaf, *others, **options)
        sums = [part.sum() for part in tree_leaves(result) if part.requires_grad]
        torch.autograd.grad(sums, leaf)
    else:
        result = operator.custom(first, *others, **options)
    yield "result", result
    if isinstance(result, Tensor) and takes_out(operator):
        journal.begin(f"{call}, into out")
        out = torch.full_like(result, 77, memory_format=torch.contiguous_format)
        operator.custom(first, *others, **options, out=out)
        yield "out", out
    for companion in operator.companions:
        if takes_options(companion, options):
            journal.begin(f"{call}, {getattr(companion, '__name__', 'a companion')}")
            companion(first, *others, **options)


if __name__ == "__main__":
    main(*sys.argv[1:])
