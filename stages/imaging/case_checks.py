"""Checks of one case on its own."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from stages.contract import Finding, Severity
from stages.imaging.facts import CaseFacts, FileFacts
from stages.imaging.nifti import largest_offset_mm

GEOMETRY_TOLERANCE_MM = 1e-3
"""Affines closer than this differ by rounding alone."""
_FORMS_TOLERANCE_MM = 1e-2
"""The quaternion of a qform is kept in float32 and rounds more."""


@dataclass(frozen=True)
class Rules:
    """What a case is held against."""

    labels: Mapping[int, str]
    """Declared name by value, after the map."""
    label_map: Mapping[int, int]
    allow_geometry_mismatch: bool


def check_case(case: CaseFacts, rules: Rules) -> Iterator[Finding]:
    """All findings on one case, in a fixed order."""
    if case.fault is not None:
        yield Finding(
            case=case.case_id,
            check="readable",
            severity=Severity.refuse,
            expected="every image and the label present and readable",
            found=case.fault,
            remedy="mend the named file, or take the case out of the folder",
        )
        return
    for check in _CHECKS:
        yield from check(case, rules)


def _check_shapes(case: CaseFacts, rules: Rules) -> Iterator[Finding]:
    image = case.image_file
    for file in case.files[1:]:
        if file.shape != image.shape:
            yield Finding(
                case=case.case_id,
                check="shapes",
                severity=Severity.refuse,
                expected=f"{file.role} of the image's shape {list(image.shape)}",
                found=f"shape {list(file.shape)} in {file.path}",
                remedy="export image and label again on one grid; nothing is cropped or padded",
            )


def _check_geometry(case: CaseFacts, rules: Rules) -> Iterator[Finding]:
    image = case.image_file
    for file in case.files[1:]:
        if image.affine is None or file.affine is None:
            continue
        one, other = np.array(image.affine), np.array(file.affine)
        offset = largest_offset_mm(one, other, image.shape)
        if offset > GEOMETRY_TOLERANCE_MM:
            shift = [round(float(v), 3) for v in (other - one)[:3, 3]]
            allowed = rules.allow_geometry_mismatch
            yield Finding(
                case=case.case_id,
                check="geometry",
                severity=Severity.warn if allowed else Severity.refuse,
                expected=f"{file.role} in the image's place, within {GEOMETRY_TOLERANCE_MM} mm",
                found=f"up to {offset:.3f} mm apart, origin shifted by {shift} mm, in {file.path}",
                remedy="accepted by data.allow_geometry_mismatch"
                if allowed
                else "resample it onto the image, or copy the image's affine if only the header is "
                "wrong; data.allow_geometry_mismatch: true accepts it as it is",
            )


def _check_spacing(case: CaseFacts, rules: Rules) -> Iterator[Finding]:
    for file in case.files:
        if min(file.spacing_mm) <= 0:
            yield Finding(
                case=case.case_id,
                check="spacing",
                severity=Severity.refuse,
                expected="a spacing above 0 mm along every axis",
                found=f"{list(file.spacing_mm)} in {file.path}",
                remedy="write the true spacing into the header (pixdim, or an sform)",
            )
        if file.units not in ("mm", "unknown"):
            yield Finding(
                case=case.case_id,
                check="units",
                severity=Severity.warn,
                expected="spacing in mm",
                found=f"the header of {file.path} says {file.units}; its figures are taken for mm",
                remedy="write the spacing in mm",
            )


def _check_forms(case: CaseFacts, rules: Rules) -> Iterator[Finding]:
    odd = [file for file in case.files if (file.forms_offset_mm or 0.0) > _FORMS_TOLERANCE_MM]
    if odd:
        yield Finding(
            case=case.case_id,
            check="forms",
            severity=Severity.warn,
            expected="qform and sform that agree",
            found="; ".join(f"up to {_offset(file):.2f} mm apart in {file.path}" for file in odd),
            remedy="the sform is used where its code is above 0, for images and labels alike; "
            "write both forms the same",
        )


def _offset(file: FileFacts) -> float:
    return file.forms_offset_mm or 0.0


def _check_intensities(case: CaseFacts, rules: Rules) -> Iterator[Finding]:
    for channel in case.channels:
        if channel.first_not_finite is not None:
            yield Finding(
                case=case.case_id,
                check="finite",
                severity=Severity.refuse,
                expected=f"finite intensities in {channel.name}",
                found=f"{channel.num_nan} NaN and {channel.num_infinite} infinite voxels, "
                f"the first at {list(channel.first_not_finite)}",
                remedy="export the image again; training on it ends in NaN",
            )
    constant = [c.name for c in case.channels if c.minimum == c.maximum]
    if constant:
        is_whole_case = len(constant) == len(case.channels)
        yield Finding(
            case=case.case_id,
            check="intensities",
            severity=Severity.refuse if is_whole_case else Severity.warn,
            expected="an image with more than one intensity",
            found=f"{', '.join(constant)}: every voxel has the same value",
            remedy="export the image again, or take the case out",
        )


def _check_label_values(case: CaseFacts, rules: Rules) -> Iterator[Finding]:
    if case.label_facts is None:
        return
    values = case.label_facts.values
    undeclared = {v: n for v, n in values.items() if rules.label_map.get(v, v) not in rules.labels}
    if undeclared:
        declared = ", ".join(f"{value} ({name})" for value, name in sorted(rules.labels.items()))
        foreground = [value for value in sorted(rules.labels) if value != 0]
        hint = f"data.label_map: {{{next(iter(undeclared))}: {foreground[0] if foreground else 0}}}"
        yield Finding(
            case=case.case_id,
            check="label values",
            severity=Severity.refuse,
            expected=f"label values {declared}",
            found=", ".join(f"{value} in {count} voxels" for value, count in undeclared.items()),
            remedy=f"correct the label, declare the value in dataset.json, or replace it: {hint}",
        )
    if case.label_facts.largest_rounding > 0:
        yield Finding(
            case=case.case_id,
            check="label rounding",
            severity=Severity.warn,
            expected="label values stored as whole numbers",
            found=f"values up to {case.label_facts.largest_rounding:.2g} off, rounded",
            remedy="store labels as integers",
        )
    if case.label_facts.num_lesion_voxels == 0:
        yield Finding(
            case=case.case_id,
            check="empty label",
            severity=Severity.note,
            expected="at least one foreground voxel",
            found="none",
            remedy="kept: a case without lesions counts false alarms; figures that need a lesion "
            "leave it out",
        )


_CHECKS: tuple[Callable[[CaseFacts, Rules], Iterator[Finding]], ...] = (
    _check_shapes,
    _check_geometry,
    _check_spacing,
    _check_forms,
    _check_intensities,
    _check_label_values,
)
