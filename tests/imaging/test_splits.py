"""Splits by patient."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.imaging.patients import (
    PatientTable,
    find_likely_siblings,
    find_patient,
    read_patient_table,
)
from stages.imaging.splits import split_patients


@pytest.mark.parametrize(
    ("num_patients", "expected"),
    [
        (1, {"train": 1}),
        (2, {"train": 1, "validation": 1}),
        (3, {"train": 1, "validation": 1, "test": 1}),
        (5, {"train": 3, "validation": 1, "test": 1}),
        (24, {"train": 14, "validation": 5, "test": 5}),
    ],
)
def test_every_split_has_a_patient_as_far_as_they_reach(
    num_patients: int, expected: dict[str, int]
) -> None:
    """Training comes first, then validation, then test; fractions count patients."""
    splits = list(split_patients(map(str, range(num_patients)), 0.2, 0.2, seed=0).values())
    assert {name: splits.count(name) for name in sorted(set(splits))} == dict(
        sorted(expected.items())
    )


@given(
    st.sets(st.text(min_size=1, max_size=8), min_size=3, max_size=40),
    st.floats(0.01, 0.99),
    st.floats(0.0, 0.99),
    st.integers(0, 99),
)
def test_split_is_whole_and_independent_of_order(
    patients: set[str], validation: float, test: float, seed: int
) -> None:
    """Everyone is in exactly one split, training is never empty, and order plays no part."""
    splits = split_patients(sorted(patients), validation, test, seed)
    assert splits == split_patients(sorted(patients, reverse=True), validation, test, seed)
    assert set(splits) == patients
    assert {"train", "validation"} <= set(splits.values())
    assert ("test" in splits.values()) <= (test > 0)


def test_seed_changes_the_split() -> None:
    """Another seed holds out others."""
    patients = [str(n) for n in range(20)]
    assert (
        len({tuple(sorted(split_patients(patients, 0.2, 0.2, s).items())) for s in range(5)}) == 5
    )


def test_no_test_split_when_none_is_asked_for() -> None:
    """A fraction of 0 leaves the split out, such as where imagesTs is the test."""
    assert "test" not in split_patients(map(str, range(10)), 0.2, 0.0, 0).values()


def test_patient_is_the_first_group() -> None:
    """The pattern is matched at the start of the case's name."""
    assert find_patient("patient07_z043", "(.+)_z", None).patient == "patient07"
    assert find_patient("patient07_z043", r"(patient\d+)", None).patient == "patient07"
    unknown = find_patient("scan_patient07", r"(patient\d+)", None)
    assert (unknown.patient, unknown.is_known) == ("scan_patient07", False)


def test_table_speaks_where_the_name_does_not() -> None:
    """A table beside the data names the patient of a case that the pattern does not match."""
    table = PatientTable(Path("cases.csv"), {"a1": "anna", "patient2_x": "bert"})
    assert find_patient("a1", r"(patient\d+)", table).patient == "anna"
    by_name = find_patient("patient2_x", r"(patient\d+)", table)
    assert (by_name.patient, by_name.stated) == ("patient2", "bert")


def test_table_is_read_with_its_columns(tmp_path: Path) -> None:
    """`cases.csv` or `index.csv`, columns case or case_id and patient or patient_id."""
    folder = tmp_path
    assert read_patient_table(folder) is None
    (folder / "index.csv").write_text("case,patient_id,slice\nläsion_1,p1,4\n", "utf-8")
    table = read_patient_table(folder)
    assert table is not None
    assert dict(table.patients) == {"läsion_1": "p1"}


@pytest.mark.parametrize(
    ("case_ids", "expected"),
    [
        (["case_001", "case_002", "case_003"], None),
        (["hippocampus_1"], None),
        (["p1_visit1", "p2_visit1", "p1_visit2"], ("p1_visit1", "p1_visit2")),
        (["sub01a", "sub01b", "sub02a"], ("sub01a", "sub01b")),
        (["left", "right"], None),
        ([], None),
    ],
)
def test_names_that_may_share_a_patient_are_told(
    case_ids: list[str], expected: tuple[str, str] | None
) -> None:
    """Only names whose beginnings form several groups, one of them of two or more."""
    assert find_likely_siblings(case_ids) == expected
