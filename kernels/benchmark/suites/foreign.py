"""The suite of any operator's folder: its own cases, libraries and compositions."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch

from kernels.benchmark.agreement import same_values
from kernels.benchmark.graphs import composition_entrants
from kernels.benchmark.ours import our_entrants
from kernels.benchmark.plan import Plan
from kernels.benchmark.scene import Call, Entrant, Inputs, Scene, Suite, Traffic
from kernels.benchmark.work import result_only, with_gradient
from kernels.folder import OperatorFolder, open_operator
from kernels.operator import Library, OperatorCase


def suite_of_folder(path: str) -> Suite:
    """Benchmark every case of the folder whose first argument has elements.

    Raises:
        FileNotFoundError: no such folder, or a file of the contract is missing.
    """
    folder = open_operator(path)
    return Suite(path, partial(_scenes, folder, path), partial(_entrants, folder))


def _scenes(folder: OperatorFolder, operator: str, plan: Plan) -> Iterator[Scene]:
    for case in folder.cases:
        first = case.make()[0][0]
        if not isinstance(first, torch.Tensor) or not first.numel():
            continue
        yield Scene(
            operator,
            "case",
            case.name,
            tuple(first.shape),
            partial(_inputs, case),
            same_values,
            Traffic(folder.spec.bytes_per_voxel, 0.0),
            with_compositions=True,
        )


def _inputs(case: OperatorCase, shape: tuple[int, ...]) -> Inputs:
    """A case has one shape."""
    args, keywords = case.make()
    return Inputs(tuple(args), dict(keywords))


def _entrants(folder: OperatorFolder, scene: Scene, plan: Plan) -> Iterator[Entrant]:
    work = with_gradient if folder.spec.is_differentiable else result_only
    yield from our_entrants(lambda: folder.custom, work)
    for library in folder.libraries:
        yield Entrant(
            library.name, "library", partial(_prepare, library, work), library.distribution
        )
    yield from composition_entrants(folder, scene, plan, work)


def _prepare(library: Library, work: Any, inputs: Inputs) -> Call:
    call = library.load()
    return lambda: work(call, inputs)
