"""The manifest's schema: strict, and nothing is coerced (coercion turns blanks into values)."""

import json
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stages.contract import Case, Finding, InputError, Severity

if TYPE_CHECKING:
    import pandas as pd
    from pandera.api.pandas.container import DataFrameSchema

_NUMBERS = frozenset({"num_lesions", "num_lesion_voxels"})
_TEXT = frozenset(Case.model_fields) - _NUMBERS


def read_manifest_frame(path: Path) -> "pd.DataFrame":
    """The manifest as a table: counts as numbers, everything else as the text that it is.

    Raises:
        InputError: there is no manifest.
    """
    import pandas as pd

    if not path.is_file():
        raise InputError(f"expected {path}, found none: run `dvc repro ingest_data` first")
    return pd.read_csv(
        path,
        dtype=dict.fromkeys(_TEXT, "string"),
        keep_default_na=False,
        na_values=dict.fromkeys(_NUMBERS, ""),
    )


def manifest_schema() -> "DataFrameSchema":
    """What a manifest must look like."""
    import pandera.pandas as pa

    def text(pattern: str, unique: bool = False) -> pa.Column:
        return pa.Column("string", pa.Check.str_matches(pattern), unique=unique)

    counts = {name: pa.Column("int64", pa.Check.ge(0)) for name in sorted(_NUMBERS)}
    positive = pa.Check(
        lambda text: all(size > 0 for size in json.loads(text)),
        element_wise=True,
        name="above 0 along every axis",
    )
    return pa.DataFrameSchema(
        {
            "case_id": text(r"^.+$", unique=True),
            "patient": text(r"^.+$"),
            "split": pa.Column("string", pa.Check.isin(["train", "validation", "test"])),
            "images": text(r'^\[".+"\]$'),
            "label": text(r"^.+$"),
            "channel_axis": text(r"^3?$"),
            "shape": text(r"^\[[1-9]\d*(, [1-9]\d*){1,2}\]$"),
            "spacing_mm": pa.Column("string", positive),
            **counts,
            "content_hash": text(r"^[0-9a-f]{64}$"),
        },
        checks=[
            pa.Check(
                lambda table: table["num_lesion_voxels"] >= table["num_lesions"],
                name="every lesion has a voxel",
            )
        ],
        strict=True,
        coerce=False,
        ordered=False,
    )


def check_manifest(path: Path) -> tuple[Finding, ...]:
    """Every violation of the schema, one finding each."""
    import pandera.pandas as pa

    table = read_manifest_frame(path)
    try:
        manifest_schema().validate(table, lazy=True)
    except pa.errors.SchemaErrors as errors:
        return tuple(_describe(table, row) for row in errors.failure_cases.to_dict("records"))
    return ()


def _describe(table: "pd.DataFrame", row: Mapping[Hashable, Any]) -> Finding:
    place, column = row.get("index"), row.get("column")
    name = "data set"
    if isinstance(place, int) and "case_id" in table:
        name = str(table["case_id"].iloc[place])
    return Finding(
        case=name,
        check="manifest",
        severity=Severity.refuse,
        expected=f"{column}: {row.get('check')}",
        found=str(row.get("failure_case")),
        remedy="the manifest is at fault, not the data: run `dvc repro -f ingest_data`, which "
        "writes it",
    )
