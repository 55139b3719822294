"""Split by patient: nobody is in two splits."""

import hashlib
from collections.abc import Iterable
from typing import Literal

Split = Literal["train", "validation", "test"]


def split_patients(
    patients: Iterable[str], validation_fraction: float, test_fraction: float, seed: int
) -> dict[str, Split]:
    """The split of each patient; a function of the set of patients and the seed alone.

    Every split that is asked for has a patient as far as they reach: training comes first, then
    validation, then test. With two patients there is no test, with one there is training alone.
    """
    ordered = sorted(set(patients), key=lambda patient: _rank(patient, seed))
    num_validation = _share(len(ordered), validation_fraction, num_left=len(ordered) - 1)
    num_test = _share(len(ordered), test_fraction, num_left=len(ordered) - 1 - num_validation)
    splits: dict[str, Split] = {}
    for place, patient in enumerate(ordered):
        if place < num_validation:
            splits[patient] = "validation"
        elif place < num_validation + num_test:
            splits[patient] = "test"
        else:
            splits[patient] = "train"
    return splits


def _share(num_patients: int, fraction: float, num_left: int) -> int:
    wanted = max(1, round(num_patients * fraction)) if fraction > 0 else 0
    return max(0, min(wanted, num_left))


def _rank(patient: str, seed: int) -> bytes:
    return hashlib.sha256(f"{seed}/{patient}".encode()).digest()
