"""Metrics of a model on whole cases, at their own voxels."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from stages.contract import Case, DataShape, ReadCase, Sample, Workload

_LINEAR_MODES = {2: "bilinear", 3: "trilinear"}


def evaluate(
    workload: Workload,
    model: nn.Module,
    cases: Sequence[Case],
    read_case: ReadCase,
    shape: DataShape,
    device: str,
) -> dict[str, list[float]]:
    """Metrics by name, one value a case in case order, NaN where undefined; empty without cases."""
    read_once = lru_cache(maxsize=1)(read_case)
    samples = workload.make_samples(cases, read_once, shape)
    rows = []
    for index, case in enumerate(cases):
        sample = samples[index]
        _, truth = read_once(case)
        predicted = predict_labels(model, sample, truth.shape, shape, device)
        rows.append(workload.score_case(predicted, truth, case.spacing_mm))
    names = list(rows[0]) if rows else []
    return {name: [float(row[name]) for row in rows] for name in names}


def predict_labels(
    model: nn.Module, sample: Sample, native_shape: tuple[int, ...], shape: DataShape, device: str
) -> NDArray[Any]:
    """Label values (*native_shape) uint8 of one sample: the logits are resized, then compared.

    The geometry is that of `DataShape.fit`, turned round: "pad" is cropped, "resample" covers the
    case."""
    model.eval()
    size = shape.case_shape if shape.fit == "pad" else native_shape
    with torch.no_grad():
        logits = model(sample["image"][None].to(device))
        resized = functional.interpolate(
            logits, size=size, mode=_LINEAR_MODES[len(size)], align_corners=False
        )
        label = resized.argmax(1)[0].to(torch.uint8).cpu().numpy()
    return np.ascontiguousarray(label[tuple(slice(0, n) for n in native_shape)])
