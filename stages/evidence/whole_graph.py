"""Is the operator inside the graph: does a graph that calls it compile and export whole?"""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from stages.contract import Operators
from stages.evidence.scene import Run, Scene
from stages.measuring.attempts import attempt
from stages.measuring.capture import Call
from stages.numerics.exporting import find_graph_difference, summarise


def find_break(handle: Callable[..., Any], calls: Sequence[Call]) -> str | None:
    """Why a graph that calls the operator does not compile whole; None when it does."""
    torch._dynamo.reset()
    compiled = torch.compile(handle, fullgraph=True, dynamic=False, backend="aot_eager")
    return attempt([compiled] * len(calls), calls).failure


def export_whole(scene: Scene, handles: Operators) -> tuple[Run | None, str | None]:
    """The job as an exported graph, or why there is none."""
    if scene.prepare_exported is None:
        return None, "a training step is not exported"
    try:
        exported = scene.prepare_exported(handles)
        difference = find_graph_difference(exported(), scene.prepare(handles)())
    except Exception as error:  # whatever a pass of the exporter, or the operator, raises
        return None, summarise(error)
    return (exported, None) if difference is None else (None, f"differs: {difference}")
