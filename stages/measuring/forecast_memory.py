"""Peak memory of a training step before anything runs: PyTorch's memory tracker on fake tensors.

Fake tensors have shapes and no values. A loss that looks at values (MONAI's DiceLoss calls
`tolist`) cannot be run on them, so that cross-entropy on the logits stands in for every workload's
loss: the forecast holds the network, its gradients and the optimizer, and leaves out what a loss
keeps of its own. Convolutions that unfold their input on the CPU (`slow_conv3d`) take more than is
forecast. So the forecast is a lower bound: "does not fit" can be relied upon, "fits" is measured.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import nn

NUM_STEPS = 2
"""The optimizer's state exists from the second step on."""
NUM_MICRO_BATCHES = 2
"""With accumulation, gradients of the first micro batch are held during the second."""


@dataclass(frozen=True)
class MemoryForecast:
    """Bytes on one device."""

    peak_bytes: int
    state_bytes: int
    """Parameters, gradients, both moments of AdamW, and the model's buffers."""


def forecast_memory(
    make_model: Callable[[], nn.Module],
    num_channels: int,
    num_classes: int,
    working_shape: Sequence[int],
    batch_size: int,
    micro_batch_size: int,
) -> MemoryForecast:
    """Peak of a training step with AdamW; the batch is accumulated from micro batches.

    Raises:
        Exception: whatever the model raises on fake tensors.
    """
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.distributed._tools.mem_tracker import MemTracker

    num_rounds = min(NUM_MICRO_BATCHES, -(-batch_size // micro_batch_size))
    with FakeTensorMode():
        model = make_model()
        optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
        image = torch.empty(micro_batch_size, num_channels, *working_shape)
        label = torch.empty(micro_batch_size, *working_shape, dtype=torch.int64)
        tracker = MemTracker()
        tracker.track_external(model, optimizer, image, label)
        with tracker:
            for _ in range(NUM_STEPS):
                optimizer.zero_grad(set_to_none=True)
                for _ in range(num_rounds):
                    loss = _stand_in_loss(model(image), label, num_classes)
                    loss.backward()  # type: ignore[no-untyped-call]
                    del loss
                    tracker.reset_mod_stats()  # it refuses a second forward pass otherwise
                optimizer.step()
        snapshot = tracker.get_tracker_snapshot("peak")
        peak = sum(int(sizes["Total"]) for sizes in snapshot.values())
    return MemoryForecast(peak, _state_bytes(model))


def _stand_in_loss(logits: torch.Tensor, label: torch.Tensor, num_classes: int) -> torch.Tensor:
    """Cross-entropy; a network with another number of outputs gets their mean square."""
    if logits.shape[1] != num_classes or logits.shape[2:] != label.shape[1:]:
        return logits.square().mean()
    return nn.functional.cross_entropy(logits, label)


def _state_bytes(model: nn.Module) -> int:
    state = 0
    for weight in model.parameters():
        copies = 4 if weight.requires_grad else 1
        state += copies * weight.numel() * weight.element_size()
    return state + sum(buffer.numel() * buffer.element_size() for buffer in model.buffers())
