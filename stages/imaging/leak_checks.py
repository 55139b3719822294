"""Checks that what is held out is unseen: no case twice, no patient in two splits."""

from collections import defaultdict
from collections.abc import Collection, Iterator

from stages.contract import Finding, Severity
from stages.imaging.facts import CaseFacts, DataSetFacts, StatedSplit

_DATA_SET = "data set"
_STATED = "splits_final.json"


def check_leaks(facts: DataSetFacts) -> Iterator[Finding]:
    """Duplicates, and patients across our own splits and across stated ones."""
    yield from _check_duplicates(facts)
    yield from _check_our_splits(facts)
    for fold, split in enumerate(facts.stated_splits):
        yield from _check_stated_split(facts, split, fold)


def _check_duplicates(facts: DataSetFacts) -> Iterator[Finding]:
    twins: dict[str, list[CaseFacts]] = defaultdict(list)
    for case in facts.cases:
        if case.image_hash is not None:
            twins[case.image_hash].append(case)
    for cases in twins.values():
        if len(cases) < 2:
            continue
        splits = {case.split for case in cases}
        is_across = len(splits) > 1
        for case in cases:
            others = ", ".join(
                f"{other.case_id} ({other.split}, {other.images[0]})"
                for other in cases
                if other is not case
            )
            yield Finding(
                case=case.case_id,
                check="duplicates",
                severity=Severity.refuse if is_across else Severity.warn,
                expected="an image of its own for every case",
                found=f"{case.case_id} ({case.split}, {case.images[0]}) has the voxels of {others}",
                remedy="remove all but one"
                + (": what is held out has been seen in training" if is_across else ""),
            )


def _check_our_splits(facts: DataSetFacts) -> Iterator[Finding]:
    """A patient in two splits: through imagesTs, or because name and table disagree."""
    for kind in ("name", "table"):
        splits: dict[str, set[str]] = defaultdict(set)
        for case in facts.cases:
            patient = case.patient if kind == "name" else case.stated_patient
            if patient is not None and case.fault is None:
                splits[patient].add(case.split)
        leaked = {p: s for p, s in splits.items() if len(s) > 1}
        if leaked:
            yield _leak(
                leaked,
                "train, validation and test"
                + (f" by {facts.patient_table}" if kind == "table" else ""),
                "move all cases of a patient to one side (imagesTr or imagesTs), or set "
                "data.patient_pattern so that names tell the patient",
            )
            return


def _check_stated_split(facts: DataSetFacts, split: StatedSplit, fold: int) -> Iterator[Finding]:
    cases = {case.case_id: case for case in facts.cases}
    unknown = sorted((set(split.train) | set(split.validation)) - set(cases))
    if unknown:
        yield Finding(
            case=_DATA_SET,
            check="stated split",
            severity=Severity.warn,
            expected=f"{_STATED}, fold {fold}: names of cases in imagesTr",
            found=f"no such case: {', '.join(unknown)}",
            remedy="correct the file; it is read for checking only",
        )
    for kind in ("patient", "stated_patient"):
        in_train, in_validation = (
            {getattr(cases[name], kind) for name in names if name in cases} - {None}
            for names in (split.train, split.validation)
        )
        both = in_train & in_validation
        if both:
            yield _leak(
                both,
                f"train and val of {_STATED}, fold {fold}",
                "split by patient; no model judged on this split may be promoted",
            )
            return


def _leak(patients: Collection[str], where: str, remedy: str) -> Finding:
    return Finding(
        case=_DATA_SET,
        check="patient leak",
        severity=Severity.refuse,
        expected="every patient in one split",
        found=f"in more than one of {where}: {', '.join(sorted(patients))}",
        remedy=remedy,
    )
