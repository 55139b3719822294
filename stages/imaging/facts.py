"""What was found in a data set, case by case: enough to judge it without reading a voxel again.

`ingest_data` keeps it as `facts.json`; `validate_data` and the manifest are made from it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from stages.contract import Frozen, InputError, SourceKind, Stage, folder, write_text

FACTS = folder(Stage.ingest_data) / "facts.json"

Affine = tuple[tuple[float, ...], ...]
CaseSplit = Literal["train", "validation", "test", "unlabelled"]


class FileFacts(Frozen):
    """What one file's header says."""

    path: str
    role: str
    """Name of the channel, "image" for a file of all channels, or "label"."""
    dtype: str
    shape: tuple[int, ...]
    """Spatial axes."""
    spacing_mm: tuple[float, ...]
    affine: Affine | None
    forms_offset_mm: float | None
    """How far sform and qform place a corner apart; None where only one is set."""
    units: str


class ChannelFacts(Frozen):
    """Intensities of one channel; figures are over its finite voxels."""

    name: str
    num_nan: int
    num_infinite: int
    first_not_finite: tuple[int, ...] | None
    minimum: float
    maximum: float
    mean: float
    std: float
    percentile_99: float


class LabelFacts(Frozen):
    """Values of a label."""

    values: Mapping[int, int]
    """Number of voxels by value, as stored after rounding, before data.label_map."""
    largest_rounding: float
    """How far a stored value was from the whole number that it was taken for."""
    num_lesions: int
    num_lesion_voxels: int
    largest_lesion_voxels: int


class CaseFacts(Frozen):
    """One case: its files, and what is in them as far as they could be read."""

    case_id: str
    patient: str
    stated_patient: str | None
    """Patient by the table beside the data, where there is one."""
    is_patient_known: bool
    """Whether name or table gave the patient; else the case counts as its own."""
    split: CaseSplit
    images: tuple[str, ...]
    label: str | None
    channel_axis: int | None
    fault: str | None = None
    """Why the case could not be read; what follows is then missing."""
    files: tuple[FileFacts, ...] = ()
    channels: tuple[ChannelFacts, ...] = ()
    label_facts: LabelFacts | None = None
    image_hash: str | None = None
    content_hash: str | None = None

    @property
    def image_file(self) -> FileFacts:
        """The first image file."""
        return self.files[0]

    @property
    def label_file(self) -> FileFacts | None:
        """The label's file."""
        return next((file for file in self.files if file.role == "label"), None)


class StatedSplit(Frozen):
    """One fold of a `splits_final.json`, read for checking only."""

    train: tuple[str, ...]
    validation: tuple[str, ...]


class DataSetFacts(Frozen):
    """A data set as found."""

    name: str
    kind: SourceKind
    source: str
    channel_names: tuple[str, ...]
    labels: Mapping[int, str]
    """Declared name by value, after data.label_map."""
    cases: tuple[CaseFacts, ...]
    strays: tuple[str, ...]
    """Files in the image and label folders that belong to no case."""
    stated_splits: tuple[StatedSplit, ...]
    patient_table: str | None
    """Path of the table that states patients."""


def write_facts(facts: DataSetFacts, path: Path = FACTS) -> None:
    """Keep the facts."""
    write_text(path, facts.model_dump_json(indent=1) + "\n")


def read_facts(path: Path = FACTS) -> DataSetFacts:
    """Read the facts.

    Raises:
        InputError: there are none, or another version wrote them.
    """
    try:
        return DataSetFacts.model_validate_json(path.read_text("utf-8"))
    except FileNotFoundError as error:
        raise InputError(
            f"expected {path}, found none: run `dvc repro ingest_data` first"
        ) from error
    except ValidationError as error:
        raise InputError(f"{path}: malformed, run `dvc repro -f ingest_data`: {error}") from error
