"""Survey a data set: recognise its layout, split it by patient, examine every case."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from stages.contract import Data, InputError, SourceKind
from stages.imaging.examine import examine_case
from stages.imaging.facts import CaseFacts, CaseSplit, DataSetFacts
from stages.imaging.layouts import Layout, recognise
from stages.imaging.patients import PatientTable, find_patient, read_patient_table
from stages.imaging.splits import split_patients

_FEW_CASES = 20
"""Up to here a pool of processes costs more than it saves."""


def survey(source: Path, data: Data, kind: SourceKind | None = None) -> DataSetFacts:
    """Everything that is to be known of a data folder; `source` also begins the paths of its files.

    Raises:
        InputError: the folder is not recognised, empty, or not one case can be read.
    """
    layout = recognise(source)
    table = read_patient_table(source)
    planned = _plan(layout, table, data)
    names = layout.description.channel_names
    examine = partial(examine_case, channel_names=names, label_map=data.label_map)
    cases = _map_cases(examine, planned)
    if all(case.label_facts is None for case in cases):
        faults = "\n".join(f"  {case.case_id}: {case.fault or 'no label'}" for case in cases[:5])
        raise InputError(
            f"{source}: expected readable cases with labels, none of {len(cases)} is:\n{faults}"
        )
    label_map = data.label_map or {}
    return DataSetFacts(
        name=layout.description.name,
        kind=kind or layout.kind,
        source=str(source),
        channel_names=names,
        labels={
            label_map.get(value, value): name
            for value, name in sorted(layout.description.labels.items())
        },
        cases=tuple(cases),
        strays=tuple(str(path) for path in layout.strays),
        stated_splits=layout.stated_splits,
        patient_table=None if table is None else str(table.path),
    )


def _plan(layout: Layout, table: PatientTable | None, data: Data) -> list[CaseFacts]:
    """Cases with patient and split, before any is read.

    `imagesTs` is the test split where it is labelled; the rest is then divided without a test
    split.
    """
    patients = {
        e.case_id: find_patient(e.case_id, data.patient_pattern, table) for e in layout.entries
    }
    has_test = any(e.is_held_out and e.label is not None for e in layout.entries)
    splits = split_patients(
        (patients[e.case_id].patient for e in layout.entries if not e.is_held_out),
        data.validation_fraction,
        0.0 if has_test else data.test_fraction,
        data.split_seed,
    )
    planned = []
    for entry in layout.entries:
        owner = patients[entry.case_id]
        split: CaseSplit
        if not entry.is_held_out:
            split = splits[owner.patient]
        else:
            split = "test" if entry.label is not None else "unlabelled"
        planned.append(
            CaseFacts(
                case_id=entry.case_id,
                patient=owner.patient,
                stated_patient=owner.stated,
                is_patient_known=owner.is_known,
                split=split,
                images=tuple(str(path) for path in entry.images),
                label=None if entry.label is None else str(entry.label),
                channel_axis=None,
                fault=entry.fault,
            )
        )
    return planned


def _map_cases(
    examine: Callable[[CaseFacts], CaseFacts], planned: Sequence[CaseFacts]
) -> list[CaseFacts]:
    """Examine all, in order, on the cores at hand where there are many."""
    num_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if len(planned) <= _FEW_CASES or (num_cores or 1) < 2:
        return [examine(case) for case in planned]
    with ProcessPoolExecutor(max_workers=min(num_cores or 1, 8)) as pool:
        return list(pool.map(examine, planned, chunksize=4))
