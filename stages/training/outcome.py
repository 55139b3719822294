"""From a trained model to a stage's result."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import nn

from stages.contract import Case, Figure, known, unknown
from stages.training.curve import Row
from stages.training.intervals import mean_over_patients, median_of

WEIGHTS = "weights.pt"
NUM_TOLD_METRICS = 3
NUM_WARM_UP_STEPS = 2
"""The first steps of a process read the data and set up memory: they are no measure of a step."""


def save_weights(model: nn.Module, folder: Path) -> str:
    """Keep the weights, on the CPU, as `weights.pt`; the file's name."""
    weights = {name: values.detach().cpu() for name, values in model.state_dict().items()}
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / f"unfinished-{WEIGHTS}"
    torch.save(weights, unfinished)
    os.replace(unfinished, folder / WEIGHTS)
    return WEIGHTS


def load_weights(model: nn.Module, folder: Path) -> nn.Module:
    """Put the weights of a stage's folder into a model."""
    model.load_state_dict(torch.load(folder / WEIGHTS, map_location="cpu", weights_only=True))
    return model


def step_time(curve: Sequence[Row]) -> Figure:
    """Median step time in ms with its interval; the first steps are left out if others remain."""
    steady = curve[NUM_WARM_UP_STEPS:] or curve
    return median_of([row["seconds"] * 1000 for row in steady])


def summarise(metrics: Mapping[str, Sequence[float]], cases: Sequence[Case]) -> dict[str, Figure]:
    """Mean of each metric over cases, with an interval over patients."""
    patients = [case.patient for case in cases]
    return {name: mean_over_patients(values, patients) for name, values in metrics.items()}


def compute_cost(training_s: float, price_per_hour: float, num_workers: int) -> Figure:
    """Currency for all workers over the training time."""
    return known(training_s / 3600 * price_per_hour * num_workers)


def measured_efficiency(alone_ms: Figure, together_ms: Figure, num_workers: int) -> Figure:
    """T_1 / (N * T_N) of step times at equal global batch; its interval spans both intervals."""
    if alone_ms.value is None:
        return unknown(f"the step time of one worker is unknown: {alone_ms.reason}")
    if together_ms.value is None:
        return unknown(f"the step time of {num_workers} workers is unknown: {together_ms.reason}")
    value = alone_ms.value / (num_workers * together_ms.value)
    if alone_ms.low is None or alone_ms.high is None or not together_ms.low or not together_ms.high:
        return known(value)
    return known(
        value,
        alone_ms.low / (num_workers * together_ms.high),
        alone_ms.high / (num_workers * together_ms.low),
    )


def describe(validation: Mapping[str, Figure]) -> str:
    """The first metrics for a person, such as "dice 0.71, lesion_f1 0.65"."""
    told = [
        f"{name} {figure.value:.3f}"
        for name, figure in validation.items()
        if figure.value is not None
    ]
    return ", ".join(told[:NUM_TOLD_METRICS]) or "no metric"
