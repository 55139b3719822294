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
from stages.numerics.request import Request
from stages.numerics.supervise import OPENING
from stages.numerics.trial import Answer, Target


def open_target(request: Request) -> Target:
    """The public function of the folder, held to what the folder promises."""
    operator = open_operator(request.folder)
    if request.library is not None:
        load_operator(operator.spec, Path(request.library))
    return target_of(operator, request.device, request.seed, request.job_shape)


def target_of(
    operator: OperatorFolder, device: str, seed: int, job_shape: tuple[int, ...] | None = None
) -> Target:
    """An opened folder's public function, whose library is loaded by now or on import."""
    promise = promise_of(operator, seed, job_shape)
    spec = operator.spec
    names = tuple(dict.fromkeys(schema.split("(")[0].split(".")[0] for schema in spec.schemas))
    return Target(
        call=operator.custom,
        promise=with_recipes(promise, _source(operator, seed)),
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


def main(request: str, target: str) -> None:
    """Append one JSON line an answer to the file `target`."""
    torch.set_num_threads(1)  # until the fork: probes are made here
    with Path(target).open("a", encoding="utf-8") as file:
        for answer in _answers(Request.from_json(request)):
            file.write(json.dumps(asdict(answer)) + "\n")
            file.flush()


def _answers(request: Request) -> Iterator[Answer]:
    """A folder that cannot be opened has one fault: what its own code raised."""
    try:
        target = open_target(request)
    except Exception as error:  # the folder's own code runs here
        yield Answer(OPENING, "the folder's files can be imported", 0, brief(error))
        return
    checks = [check for check in CHECKS if request.extent == "full" or not check.is_slow]
    yield from examine(target, checks, request.check_limit_s)


if __name__ == "__main__":
    main(*sys.argv[1:])
