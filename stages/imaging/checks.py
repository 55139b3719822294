"""Checks across a data set: what only shows when cases are seen together."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from stages.contract import Finding, Severity
from stages.imaging.case_checks import Rules, check_case
from stages.imaging.describe import count_unknown_patients, describe_unknown_patients
from stages.imaging.facts import DataSetFacts
from stages.imaging.leak_checks import check_leaks
from stages.imaging.patients import find_likely_siblings
from stages.imaging.reading import FILE_ENDINGS

DATA_SET = "data set"
_SCALE_FACTOR = 30.0
"""Times the median case, or a part of it, beyond which an intensity scale is of another kind."""
_FEWEST_FOR_A_MEDIAN = 3


def check_facts(facts: DataSetFacts, rules: Rules) -> tuple[Finding, ...]:
    """Every finding on every case, then those on the data set."""
    findings = [finding for case in facts.cases for finding in check_case(case, rules)]
    for check in (
        _check_names,
        _check_strays,
        _check_axes,
        _check_declared_labels,
        _check_patients,
        check_leaks,
        _check_scales,
    ):
        findings += check(facts)
    return tuple(findings)


def _check_names(facts: DataSetFacts) -> Iterator[Finding]:
    seen: set[str] = set()
    for case in facts.cases:
        if case.case_id in seen:
            yield Finding(
                case=case.case_id,
                check="names",
                severity=Severity.refuse,
                expected="one case of this name",
                found="two, in imagesTr and imagesTs",
                remedy="rename one",
            )
        seen.add(case.case_id)


def _check_strays(facts: DataSetFacts) -> Iterator[Finding]:
    """Files of no case; one that could pass for a case's file is refused, never chosen."""
    used = {_stem(path) for case in facts.cases for path in (*case.images, case.label or "")}
    for path in facts.strays:
        is_rival = _stem(path) in used
        yield Finding(
            case=Path(path).name,
            check="stray file",
            severity=Severity.refuse if is_rival else Severity.warn,
            expected="files of the declared ending, named <case>_0000 or as declared",
            found=f"{path}, a second file for a case" if is_rival else f"{path}, left aside",
            remedy="keep one of the two" if is_rival else "rename, convert or remove it",
        )


def _stem(path: str) -> str:
    name = path
    for ending in FILE_ENDINGS:
        name = name.removesuffix(ending)
    return name


def _check_axes(facts: DataSetFacts) -> Iterator[Finding]:
    cases: dict[int, list[str]] = defaultdict(list)
    for case in facts.cases:
        if case.files:
            cases[len(case.image_file.shape)].append(case.case_id)
    if len(cases) > 1:
        few = min(cases, key=lambda num_axes: len(cases[num_axes]))
        yield Finding(
            case=DATA_SET,
            check="axes",
            severity=Severity.refuse,
            expected="the same number of axes in every case",
            found=f"{few} in {_list(cases[few])}, otherwise in the rest",
            remedy="split the data set",
        )


def _check_declared_labels(facts: DataSetFacts) -> Iterator[Finding]:
    values = sorted(facts.labels)
    if values != list(range(len(values))) or len(values) < 2:
        yield Finding(
            case=DATA_SET,
            check="declared labels",
            severity=Severity.refuse,
            expected="label values 0 (background), 1, ... without gaps",
            found=", ".join(f"{value} ({name})" for value, name in sorted(facts.labels.items())),
            remedy="renumber them, here with data.label_map, such as {4: 3}",
        )
    labelled = [case for case in facts.cases if case.label_facts is not None]
    if labelled and all(
        case.label_facts.num_lesion_voxels == 0 for case in labelled if case.label_facts
    ):
        yield Finding(
            case=DATA_SET,
            check="foreground",
            severity=Severity.refuse,
            expected="foreground in at least one label",
            found="none in any",
            remedy="check the labels: there is nothing to learn",
        )


def _check_patients(facts: DataSetFacts) -> Iterator[Finding]:
    patients = {case.patient for case in facts.cases if case.split != "unlabelled"}
    if len(patients) < 3:
        yield Finding(
            case=DATA_SET,
            check="patients",
            severity=Severity.refuse if len(patients) < 2 else Severity.note,
            expected="at least 3 patients, one a split",
            found=f"{len(patients)}: {_list(sorted(patients))}",
            remedy="accuracy needs a patient that training has not seen: add one, or let "
            "data.patient_pattern tell patients apart"
            if len(patients) < 2
            else "there is no test split: accuracy comes from the validation patient",
        )
    alike = find_likely_siblings([c.case_id for c in facts.cases if not c.is_patient_known])
    if alike:
        yield Finding(
            case=DATA_SET,
            check="patients",
            severity=Severity.note,
            expected="all cases of a patient in one split",
            found=f"{_list(list(alike))} look like cases of one patient; "
            + describe_unknown_patients(count_unknown_patients(facts.cases), len(facts.cases)),
            remedy="set data.patient_pattern, such as '(.+)_', whose group captures the patient, "
            "or put a cases.csv with case_id,patient_id beside dataset.json",
        )


def _check_scales(facts: DataSetFacts) -> Iterator[Finding]:
    """Channels whose bright voxels lie orders of magnitude from those of the other cases."""
    for number, name in enumerate(facts.channel_names):
        scales = {
            case.case_id: abs(case.channels[number].percentile_99)
            for case in facts.cases
            if number < len(case.channels) and case.channels[number].percentile_99 != 0
        }
        if len(scales) < _FEWEST_FOR_A_MEDIAN:
            continue
        middle = median(scales.values())
        odd = {
            case_id: scale
            for case_id, scale in scales.items()
            if not middle / _SCALE_FACTOR <= scale <= middle * _SCALE_FACTOR
        }
        if odd:
            yield Finding(
                case=DATA_SET,
                check="intensity scale",
                severity=Severity.warn,
                expected=f"{name}: 99th percentiles within {_SCALE_FACTOR:.0f} times the median, "
                f"{middle:.3g}",
                found=f"{len(odd)} cases from {min(odd.values()):.3g} to {max(odd.values()):.3g}: "
                f"{_list(list(odd))}",
                remedy="normalise each case by itself (the bundled workload does), or bring them "
                "to one scale",
            )


def _list(names: list[str]) -> str:
    return ", ".join(names)
