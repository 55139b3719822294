"""Results of node A: what data is this, and may it be used?"""

from enum import StrEnum
from typing import Literal

from stages.contract.frozen import Frozen
from stages.contract.results import Result


class EnvironmentResult(Result):
    """Which machine, which versions; stable facts only, so that only a real change re-measures."""

    cpu_model: str
    num_cores: int
    instruction_sets: tuple[str, ...]
    memory_bytes: int
    gpus: tuple[str, ...]
    operating_system: str
    python_version: str
    compiler: str | None
    """First line of the C++ compiler's version; None when there is none."""
    versions: dict[str, str]
    """Installed version by distribution name."""


class SourceKind(StrEnum):
    """How a data folder is laid out."""

    phantom = "phantom"
    nnunet = "nnunet"
    decathlon = "decathlon"


class Case(Frozen):
    """One row of the manifest."""

    case_id: str
    patient: str
    split: Literal["train", "validation", "test"]
    images: tuple[str, ...]
    """Paths of the image files, one a channel (or one file holding all channels); absolute, or
    relative to the workspace."""
    label: str
    channel_axis: int | None = None
    """Axis of the channels in a single multi-channel file; None when each file is a channel."""
    shape: tuple[int, ...]
    """Voxels along each spatial axis, in the file's order (NIfTI: x, y, z; PNG: rows, columns)."""
    spacing_mm: tuple[float, ...]
    num_lesions: int
    """Connected components of the foreground, full connectivity."""
    num_lesion_voxels: int
    content_hash: str
    """sha256 of the voxels of all channels and the label, whatever header and compression."""


class IngestResult(Result):
    """The data set and its manifest, `reports/ingest_data/manifest.csv`."""

    name: str
    kind: SourceKind
    source: str
    num_cases: int
    num_patients: int
    num_spatial_dims: int
    channel_names: tuple[str, ...]
    label_names: tuple[str, ...]
    """Name of each label value, in value order; the first is the background."""
    largest_shape: tuple[int, ...]
    median_shape: tuple[int, ...]
    median_spacing_mm: tuple[float, ...]
    label_map: dict[int, int] | None = None
    """Label values replaced on reading, from data.label_map; for `read_case`."""
    data_digest: str
    """sha256 over all content hashes in case order."""
    num_train: int
    num_validation: int
    num_test: int
    unreadable: tuple[str, ...] = ()
    """Cases that could not be read, "case: reason"; not in the manifest, refused by validation."""
    notes: tuple[str, ...] = ()


class Severity(StrEnum):
    """refuse stops the run; warn and note do not."""

    refuse = "refuse"
    warn = "warn"
    note = "note"


class Finding(Frozen):
    """One thing found in the data."""

    case: str
    """Case identifier, or "data set"."""
    check: str
    severity: Severity
    expected: str
    found: str
    remedy: str


class ValidationResult(Result):
    """All findings, none left out."""

    is_accepted: bool
    findings: tuple[Finding, ...]
    num_expectations: int
    data_docs: str | None
    """Path of the Great Expectations Data Docs page, relative to the workspace."""
