"""From the data and the parameters to the shapes at which a job works."""

from typing import Literal

from stages.contract.data_results import IngestResult, SourceKind
from stages.contract.errors import InputError
from stages.contract.parameters import Settings
from stages.contract.workload import DataShape

_LARGEST_WORKING_AXIS = {2: 192, 3: 64}
"""Voxels an axis: what a small network trains on within minutes on two cores."""
_MULTIPLE = 16
"""Four halvings, the deepest that the bundled network makes."""


def derive_data_shape(ingest: IngestResult, settings: Settings) -> DataShape:
    """Shapes of the deployed case and of the network's input.

    Reads product.case_shape, training.working_shape and training.base_channels. A stated case
    shape means that every case is resampled to it; without one, cases are padded to the largest.

    Raises:
        InputError: a stated shape has another number of axes than the data.
    """
    num_dims = ingest.num_spatial_dims
    stated = settings.product.case_shape
    case_shape = stated or ingest.largest_shape
    working_shape = settings.training.working_shape or tuple(
        min(_round_up(size), _LARGEST_WORKING_AXIS[num_dims]) for size in ingest.largest_shape
    )
    for key, shape in (
        ("product.case_shape", case_shape),
        ("training.working_shape", working_shape),
    ):
        if len(shape) != num_dims:
            raise InputError(
                f"params.yaml: {key} must have {num_dims} axes like the data of {ingest.source}, "
                f"got {list(shape)}; null takes it from the data"
            )
    extent = [s * n for s, n in zip(ingest.median_spacing_mm, ingest.median_shape, strict=True)]
    return DataShape(
        num_channels=len(ingest.channel_names),
        num_classes=len(ingest.label_names),
        case_shape=tuple(case_shape),
        spacing_mm=tuple(e / n for e, n in zip(extent, case_shape, strict=True))
        if stated
        else ingest.median_spacing_mm,
        working_shape=tuple(working_shape),
        fit=_fit(stated is not None, ingest.kind),
        base_channels=settings.training.base_channels,
    )


def _fit(is_stated: bool, kind: SourceKind) -> Literal["pad", "resample", "render"]:
    if not is_stated:
        return "pad"
    return "render" if kind is SourceKind.phantom else "resample"


def _round_up(size: int) -> int:
    return -(-size // _MULTIPLE) * _MULTIPLE
