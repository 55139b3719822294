"""The process in which an operator's folder is examined; the checks are forked from it.

It runs no parallel operator of its own: OpenMP does not survive a fork.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import torch
import torch._dynamo
import torch.export
import torch.testing._internal.optests

from kernels.folder import OperatorFolder, open_operator
from kernels.load import load_operator
from stages.numerics.apart import brief
from stages.numerics.battery import examine
from stages.numerics.checks import CHECKS
from stages.numerics.promise import with_recipes
from stages.numerics.promises.folder import promise_of
from stages.numerics.supervise import OPENING
from stages.numerics.trial import Answer, Check, Target


def open_target(operator: OperatorFolder, device: str, seed: int) -> Target:
    """The public function of the folder, held to what the folder promises."""
    spec = operator.spec
    names = tuple(dict.fromkeys(schema.split("(")[0].split(".")[0] for schema in spec.schemas))
    return Target(
        call=operator.custom,
        promise=with_recipes(promise_of(operator, seed), _source(operator, seed)),
        name=spec.name,
        device=device,
        schemas=names,
        seed=seed,
    )


def _source(operator: OperatorFolder, seed: int) -> str:
    return (
        "from kernels.folder import open_operator\n"
        "from stages.numerics.promises.folder import promise_of\n"
        f"promise = promise_of(open_operator({str(operator.path)!r}), {seed})"
    )


def main(
    folder: str,
    library: str,
    device: str,
    extent: str,
    seed: str,
    check_limit_s: str,
    target: str,
) -> None:
    """Append one JSON line an answer to the file `target`; `library` is "-" for none, `extent`
    quick or full."""
    torch.set_num_threads(1)  # until the fork: probes are made here
    checks = [check for check in CHECKS if extent == "full" or not check.is_slow]
    with Path(target).open("a", encoding="utf-8") as file:
        for answer in _answers(folder, library, device, int(seed), checks, float(check_limit_s)):
            file.write(json.dumps(asdict(answer)) + "\n")
            file.flush()


def _answers(
    folder: str, library: str, device: str, seed: int, checks: list[Check], limit_s: float
) -> Iterator[Answer]:
    """A folder that cannot be opened has one fault: what its own code raised."""
    try:
        operator = open_operator(folder)
        if library != "-":
            load_operator(operator.spec, Path(library))
        target = open_target(operator, device, seed)
    except Exception as error:  # the folder's own code runs here
        yield Answer(OPENING, "the folder's files can be imported", 0, brief(error))
        return
    yield from examine(target, checks, limit_s)


if __name__ == "__main__":
    main(*sys.argv[1:])
