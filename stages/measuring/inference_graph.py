"""The inference graph as it will be deployed, with a realistic mask long before anything is
trained."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from stages.contract import Case, DataShape, InputError, Operators, Workload

Deploy = Callable[[nn.Module, tuple[Tensor, ...]], nn.Module]
"""Turns a module into what the deployment runs, given its example inputs."""
CONFIDENCE = 40.0
"""Added to the logit of the true class: well beyond what an untrained network says."""


def typical_index(cases: Sequence[Case]) -> int:
    """Place of the case with the median number of lesions: neither an empty one nor the worst.

    Raises:
        InputError: there is no case.
    """
    if not cases:
        raise InputError("expected cases in the manifest, found none: run `dvc repro ingest_data`")
    return sorted(range(len(cases)), key=lambda i: (cases[i].num_lesions, i))[len(cases) // 2]


class TruthBiased(nn.Module):
    """The real network, at its real cost, with logits that come out right.

    An untrained network's mask is noise of thousands of lesions, on which labelling and report take
    another time than on a mask that a radiologist would recognise.
    """

    bias: Tensor

    def __init__(self, network: nn.Module, label: Tensor, shape: DataShape) -> None:
        super().__init__()
        self.network = network
        self.register_buffer("bias", _bias(label, shape))

    def forward(self, image: Tensor) -> Tensor:
        """Logits (N, num_classes, *working)."""
        logits: Tensor = self.network(image)
        return logits + self.bias


def make_realistic_report(
    workload: Workload,
    operators: Operators,
    shape: DataShape,
    label: NDArray[Any],
    seed: int,
    device: str,
) -> nn.Module:
    """The workload's report graph around an untrained, seeded network that sees the truth.

    Args:
        label: true label values (*case_shape).
    """
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = workload.make_model(shape)
    biased = TruthBiased(network, torch.as_tensor(label.astype("int64")), shape)
    return workload.make_report(biased.eval(), operators, shape).eval().to(device)


def _bias(label: Tensor, shape: DataShape) -> Tensor:
    """(1, num_classes, *working): foreground wherever the cell holds any, so that no lesion is
    lost."""
    classes = functional.one_hot(label.clamp(max=shape.num_classes - 1), shape.num_classes)
    planes = classes.movedim(-1, 0)[None].float()
    pool = (
        functional.adaptive_max_pool3d
        if len(shape.working_shape) == 3
        else functional.adaptive_max_pool2d
    )
    cells = pool(planes, list(shape.working_shape))
    cells[:, 0] = 1 - cells[:, 1:].amax(1)
    return cells * CONFIDENCE


class InferenceScene:
    """One deployed case through the report graph, with whatever stands in for the operator."""

    def __init__(
        self,
        workload: Workload,
        shape: DataShape,
        image: NDArray[Any],
        label: NDArray[Any],
        *,
        seed: int,
        device: str,
    ) -> None:
        """Take one case: image (C, *case_shape) float32 and label (*case_shape)."""
        self._workload, self._shape, self._label = workload, shape, label
        self._seed, self._device = seed, device
        self.image = torch.as_tensor(image, dtype=torch.float32)[None].to(device)

    def make_report(self, operators: Operators) -> nn.Module:
        """The report graph with these handles inside."""
        return make_realistic_report(
            self._workload, operators, self._shape, self._label, self._seed, self._device
        )

    def prepare(self, operators: Operators) -> Callable[[], object]:
        """One inference, run by Python."""
        return self._once(self.make_report(operators))

    def deploy(self, operators: Operators, deploy: Deploy) -> Callable[[], object]:
        """One inference, run as deployed."""
        with torch.no_grad():
            return self._once(deploy(self.make_report(operators), (self.image,)))

    def _once(self, report: nn.Module) -> Callable[[], object]:
        def run() -> object:
            with torch.no_grad():
                return report(self.image)

        return run
