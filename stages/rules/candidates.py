"""May an implementation serve in this context and deployment?"""

from typing import Literal

from stages.contract import Figure, Rung

Context = Literal["inference_graph", "training_step"]


def find_disqualification(
    *,
    rung: Rung,
    context: Context,
    deployment: Literal["python", "exported_graph"],
    is_right: bool | None,
    is_differentiable: bool | None,
    is_exportable: bool | None,
    time_ms: Figure,
    detail: str,
) -> str | None:
    """Why it may not serve; None when it may. The first reason that applies, the gravest first.

    Args:
        is_differentiable: None where the operator has no gradient.
        detail: what was found on the cases, or why it does not export.
    """
    if is_right is False:
        return f"wrong: {detail}"
    if is_right is None:
        return f"not proven right: {detail}"
    if context == "training_step" and is_differentiable is False:
        return "no gradient reaches its input, and the training step needs one"
    if context == "inference_graph" and deployment == "exported_graph" and not is_exportable:
        kind = "a library outside torch" if rung is Rung.library else "it"
        return f"{kind} cannot be part of an exported graph: {detail}"
    if time_ms.value is None:
        return f"not measured: {time_ms.reason}"
    return None
