"""Who a case belongs to: by its name, by a table beside the data, or else by itself."""

import csv
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stages.contract import InputError

_LAST_PART = re.compile(r"([^\W\d_]+|\d+)[\W_]*$")
"""The last run of letters or of digits in a name."""
_TABLES = ("cases.csv", "index.csv")
_CASE_COLUMNS = ("case_id", "case")
_PATIENT_COLUMNS = ("patient_id", "patient")


@dataclass(frozen=True)
class PatientTable:
    """Patients as a table beside `dataset.json` states them."""

    path: Path
    patients: Mapping[str, str]
    """Patient by case."""


@dataclass(frozen=True)
class PatientOf:
    """A case's patient, and where that comes from."""

    patient: str
    stated: str | None
    is_known: bool


def find_patient(case_id: str, pattern: str, table: PatientTable | None) -> PatientOf:
    """The pattern's first group where it matches, else the table's word, else the case itself."""
    stated = table.patients.get(case_id) if table is not None else None
    match = re.match(pattern, case_id)
    if match is not None and match.group(1):
        return PatientOf(match.group(1), stated, is_known=True)
    if stated is not None:
        return PatientOf(stated, stated, is_known=True)
    return PatientOf(case_id, None, is_known=False)


def find_likely_siblings(case_ids: Sequence[str]) -> tuple[str, str] | None:
    """Two names that differ in their last part alone, such as p1_visit1 and p1_visit2.

    None where that is so of all names, as of case_001 and case_002, or of no two: such names tell
    no patient.
    """
    groups: dict[str, list[str]] = defaultdict(list)
    for case_id in sorted(case_ids):
        groups[_LAST_PART.sub("", case_id)].append(case_id)
    several = [members for members in groups.values() if len(members) > 1]
    if len(groups) < 2 or not several:
        return None
    return several[0][0], several[0][1]


def read_patient_table(source: Path) -> PatientTable | None:
    """Read `cases.csv` or `index.csv` with columns of cases and patients; None without one.

    Raises:
        InputError: the table is not readable text.
    """
    for name in _TABLES:
        path = source / name
        if not path.is_file():
            continue
        try:
            with path.open(encoding="utf-8-sig", newline="") as file:
                rows = list(csv.DictReader(file))
        except (UnicodeDecodeError, csv.Error) as error:
            raise InputError(
                f"{path}: expected a comma-separated table in UTF-8: {error}"
            ) from error
        columns = list(rows[0]) if rows else []
        case = next((c for c in _CASE_COLUMNS if c in columns), None)
        patient = next((c for c in _PATIENT_COLUMNS if c in columns), None)
        if case is not None and patient is not None:
            return PatientTable(path, {row[case]: row[patient] for row in rows if row[patient]})
    return None
