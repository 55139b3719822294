"""The manifest, `reports/ingest_data/manifest.csv`: one row a case, lists as JSON."""

import csv
import json
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from stages.contract.data_results import Case
from stages.contract.errors import InputError
from stages.contract.files import folder, write_text
from stages.contract.graph import Stage

MANIFEST = folder(Stage.ingest_data) / "manifest.csv"
_LISTS = ("images", "shape", "spacing_mm")


def write_manifest(cases: Sequence[Case], path: Path = MANIFEST) -> None:
    """Keep the cases, in the given order."""
    text = StringIO()
    writer = csv.DictWriter(text, list(Case.model_fields), lineterminator="\n")
    writer.writeheader()
    for case in cases:
        row: dict[str, Any] = case.model_dump(mode="json")
        row |= {name: json.dumps(row[name], ensure_ascii=False) for name in _LISTS}
        row["channel_axis"] = "" if case.channel_axis is None else case.channel_axis
        writer.writerow(row)
    write_text(path, text.getvalue())


def read_manifest(path: Path = MANIFEST) -> tuple[Case, ...]:
    """Read the cases.

    Raises:
        InputError: there is no manifest.
    """
    if not path.is_file():
        raise InputError(f"expected {path}, found none: run `dvc repro ingest_data` first")
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(_parse(row) for row in csv.DictReader(file))


def _parse(row: dict[str, Any]) -> Case:
    row |= {name: json.loads(row[name]) for name in _LISTS}
    row["channel_axis"] = int(row["channel_axis"]) if row["channel_axis"] else None
    return Case.model_validate(row)
