"""A workload: model, loss, data, metric and report head, replaceable through `module:factory`."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from stages.contract.data_results import Case
from stages.contract.errors import InputError
from stages.contract.settings import Training

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor, nn

Operators = Mapping[str, Callable[..., Any]]
"""Handles by operator name: what the pipeline puts in place of the operator in question. A workload
that finds no handle does the job in its own standard way, or, in a loss, leaves the term out."""

Sample = Mapping[str, "Tensor"]
"""Unbatched "image" (C, *working) float32, "label" (1, *working) int64 and "instances"
(1, *working) int32; a batch holds the same with a leading N."""

ReadCase = Callable[[Case], "tuple[NDArray[Any], NDArray[Any]]"]
"""Image (C, *spatial) float32 and label (*spatial) int64 of a case."""


@dataclass(frozen=True)
class DataShape:
    """What a workload needs to know of the data to build its parts."""

    num_channels: int
    num_classes: int
    """Label values, background included."""
    case_shape: tuple[int, ...]
    """Voxels of a case as deployed: what the inference graph takes."""
    spacing_mm: tuple[float, ...]
    """Spacing of `case_shape`."""
    working_shape: tuple[int, ...]
    """Voxels at which the network works."""
    fit: Literal["pad", "resample", "render"]
    """How a case of another shape comes to `case_shape`: zeros appended, interpolated, or, for a
    phantom, made anew at that shape, so that a smaller one is what a deployed one looks like when
    it is scaled down."""
    base_channels: int

    @property
    def num_spatial_dims(self) -> int:
        """2 or 3."""
        return len(self.case_shape)


@dataclass(frozen=True)
class Workload:
    """The parts of a job. Functions must be deterministic for equal arguments and torch seeds."""

    name: str
    make_model: Callable[[DataShape], "nn.Module"]
    """Network from (N, C, *working) to logits (N, num_classes, *working)."""
    make_loss: Callable[[Operators], Callable[["Tensor", Sample], "Tensor"]]
    """Loss of logits and a batch, a scalar to minimise."""
    make_samples: Callable[[Sequence[Case], ReadCase, DataShape], Sequence[Sample]]
    """Prepared samples in case order; lazily read, so that indexing costs, not the call."""
    augment: Callable[[Sample, int], Sample]
    """Random variation of a sample, a function of the seed alone."""
    score_case: Callable[["NDArray[Any]", "NDArray[Any]", tuple[float, ...]], Mapping[str, float]]
    """Metrics of predicted and true labels (*spatial) of one case; NaN where a metric is undefined.
    Never uses the operator under test."""
    make_report: Callable[["nn.Module", Operators, DataShape], "nn.Module"]
    """The inference graph, from image (1, C, *case_shape) float32 to mask (1, 1, *case_shape) uint8
    label values and report (num_lesions, columns) float32."""
    report_columns: tuple[str, ...]


def load_workload(training: Training) -> Workload:
    """Import the workload that `training.workload` names.

    Raises:
        InputError: no such module or factory, it returns something else, or it comes from a file
            that `training.workload_source` does not cover, so that the cache would miss changes.
    """
    name = training.workload
    module_name, factory_name = name.split(":")
    try:
        module = importlib.import_module(module_name)
        factory = getattr(module, factory_name)
    except (ImportError, AttributeError) as error:
        raise InputError(
            f"params.yaml: training.workload must name an importable module:factory, got {name} "
            f"({error}); a module of your own must be on PYTHONPATH"
        ) from error
    origin, source = Path(str(module.__file__)).resolve(), Path(training.workload_source).resolve()
    if source != origin and source not in origin.parents:
        raise InputError(
            f"params.yaml: training.workload {name} comes from {origin}, which workload_source "
            f"{training.workload_source} does not cover; set training.workload_source to {origin}"
        )
    workload = factory()
    if not isinstance(workload, Workload):
        raise InputError(
            f"{name} must return a stages.contract.Workload, got {type(workload).__name__}"
        )
    return workload
