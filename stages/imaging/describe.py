"""From the facts of a data set to its manifest and to the result of `ingest_data`."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from stages.contract import Case, Data, IngestResult, Stage
from stages.imaging.facts import CaseFacts, DataSetFacts
from stages.imaging.hashing import hash_hashes


def make_cases(facts: DataSetFacts) -> tuple[Case, ...]:
    """The manifest's rows: every readable case with a label, in the order of the facts."""
    return tuple(
        Case(
            case_id=case.case_id,
            patient=case.patient,
            split=case.split,
            images=case.images,
            label=case.label,
            channel_axis=case.channel_axis,
            shape=case.image_file.shape,
            spacing_mm=case.image_file.spacing_mm,
            num_lesions=case.label_facts.num_lesions,
            num_lesion_voxels=case.label_facts.num_lesion_voxels,
            content_hash=case.content_hash,
        )
        for case in facts.cases
        if case.split != "unlabelled"
        and case.label is not None
        and case.label_facts is not None
        and case.content_hash is not None
    )


def describe_data_set(facts: DataSetFacts, cases: Sequence[Case], data: Data) -> IngestResult:
    """The result of `ingest_data`; shapes are over the cases of the most common number of axes."""
    splits = Counter(case.split for case in cases)
    num_dims = Counter(len(case.shape) for case in cases).most_common(1)[0][0]
    alike = [case for case in cases if len(case.shape) == num_dims]
    shapes = np.array([case.shape for case in alike])
    spacings = np.array([case.spacing_mm for case in alike])
    num_patients = len({case.patient for case in cases})
    unreadable = [f"{case.case_id}: {case.fault}" for case in facts.cases if case.fault is not None]
    return IngestResult(
        stage=Stage.ingest_data,
        reason=(
            f"{facts.name}: {len(cases)} cases of {num_patients} patients, {splits['train']} to "
            f"train, {splits['validation']} to validate, {splits['test']} to test"
            + (f"; {len(unreadable)} could not be read" if unreadable else "")
        ),
        name=facts.name,
        kind=facts.kind,
        source=facts.source,
        num_cases=len(cases),
        num_patients=num_patients,
        num_spatial_dims=num_dims,
        channel_names=facts.channel_names,
        label_names=tuple(facts.labels[value] for value in sorted(facts.labels)),
        largest_shape=tuple(shapes.max(axis=0).tolist()),
        median_shape=tuple(np.median(shapes, axis=0).astype(int).tolist()),
        median_spacing_mm=tuple(np.median(spacings, axis=0).tolist()),
        label_map=data.label_map,
        data_digest=hash_hashes(case.content_hash for case in cases),
        num_train=splits["train"],
        num_validation=splits["validation"],
        num_test=splits["test"],
        unreadable=tuple(unreadable),
        notes=tuple(_note(facts, cases)),
    )


def _note(facts: DataSetFacts, cases: Sequence[Case]) -> list[str]:
    notes = []
    for split in ("train", "validation", "test"):
        members = [case for case in cases if case.split == split]
        num_patients = len({case.patient for case in members})
        notes.append(f"{split}: {len(members)} cases of {num_patients} patients")
    unknown = count_unknown_patients(facts.cases)
    if unknown:
        notes.append(
            f"{describe_unknown_patients(unknown, len(facts.cases))}; data.patient_pattern says "
            f"how names tell the patient"
        )
    num_unlabelled = sum(case.split == "unlabelled" for case in facts.cases)
    if num_unlabelled:
        notes.append(
            f"{num_unlabelled} cases of imagesTs have no label: checked for duplicates only"
        )
    return notes


def count_unknown_patients(cases: Sequence[CaseFacts]) -> int:
    """Cases whose patient neither name nor table tells."""
    return sum(not case.is_patient_known for case in cases)


def describe_unknown_patients(num_unknown: int, num_cases: int) -> str:
    """What follows for the split."""
    return (
        f"the patient of {num_unknown} of {num_cases} cases is unknown: each counts as its own, "
        f"so no patient-level split can be proven"
    )
