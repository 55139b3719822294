"""The workers of one job: alone by default."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor, nn

from stages.training.step import Step


def _keep_network(step: Step) -> nn.Module:
    return step.model


def _keep_mean(loss: Tensor) -> Tensor:
    return loss


@dataclass(frozen=True)
class Team:
    """One worker's view of all workers."""

    rank: int = 0
    num_workers: int = 1
    wrap: Callable[[Step], nn.Module] = _keep_network
    """What to call in place of the model, so that gradients are averaged over workers."""
    average: Callable[[Tensor], Tensor] = _keep_mean
    """Mean of a scalar over workers."""

    def slice_of(self, batch_size: int) -> range:
        """Places of this worker in the global batch; none for some if workers outnumber samples."""
        return range(
            self.rank * batch_size // self.num_workers,
            (self.rank + 1) * batch_size // self.num_workers,
        )


ALONE = Team()
