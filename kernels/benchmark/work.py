"""What one call of an implementation is: its result, or its result and its gradient."""

from typing import Any

import torch

from kernels.benchmark.scene import Inputs
from kernels.operator import Implementation


def result_only(call: Implementation, inputs: Inputs) -> Any:
    """Call without a gradient."""
    with torch.no_grad():
        return call(*inputs.args, **inputs.keywords)


def with_gradient(call: Implementation, inputs: Inputs) -> tuple[torch.Tensor, torch.Tensor]:
    """Forward and backward: the loss, and its gradient with respect to the first argument."""
    first = inputs.args[0].detach().requires_grad_()
    loss = call(first, *inputs.args[1:], **inputs.keywords)
    return loss.detach(), torch.autograd.grad(loss, first)[0]
