"""`validate_data`: may this data be used?"""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import nibabel
import numpy as np
import pytest

from stages.contract import (
    Finding,
    InputError,
    Settings,
    Severity,
    Stage,
    ValidationResult,
    load_parameters,
    read,
    read_manifest,
    write_manifest,
)
from stages.imaging.manifest_schema import check_manifest
from stages.imaging.phantom_folder import write_phantom_folder
from stages.imaging.phantom_recipe import PhantomRecipe, read_recipe
from stages.ingest_data import ingest_data
from stages.validate_data import validate_data


@pytest.fixture(scope="module")
def made(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sound nnU-Net folder of four small phantoms, made once."""
    default = read_recipe(root / "data" / "phantom.yaml")
    spacing = tuple(extent / 24 for extent in default.field_of_view_mm)
    small = {"num_patients": 4, "shape": (24, 24, 24), "spacing_mm": spacing}
    target = tmp_path_factory.mktemp("made") / "folder"
    write_phantom_folder(PhantomRecipe.model_validate(default.model_dump() | small), target)
    return target


@pytest.fixture
def workspace(root: Path, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with its settings, expectations and a copy of the sound folder as `source`."""
    for name in ("params.yaml", "dvc.yaml"):
        shutil.copy(root / name, tmp_path / name)
    text = (tmp_path / "params.yaml").read_text("utf-8").replace("data/phantom.yaml", "source")
    (tmp_path / "params.yaml").write_text(text, "utf-8")
    shutil.copytree(root / "data", tmp_path / "data")
    shutil.copytree(made, tmp_path / "source")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_both(workspace: Path) -> ValidationResult:
    """Ingest and validate the source; the kept result also where it is refused."""
    settings = Settings(**dict(load_parameters(workspace / "params.yaml")))
    ingest_data(settings)
    try:
        return validate_data(settings)
    except InputError:
        return read(Stage.validate_data, ValidationResult)


def change_voxels(path: Path, change: Callable[[np.ndarray], np.ndarray]) -> None:
    """Rewrite an image with other voxels."""
    image = nibabel.load(path)
    voxels = change(np.asarray(image.dataobj).copy())
    nibabel.save(nibabel.Nifti1Image(voxels, image.affine), path)


def test_sound_data_is_accepted(workspace: Path) -> None:
    """No finding at all, every expectation evaluated, Data Docs beside the result."""
    result = run_both(workspace)
    assert result.is_accepted
    assert result.findings == ()
    suite = json.loads((workspace / "data/expectations/cases.json").read_text("utf-8"))
    assert result.num_expectations == len(suite["expectations"])
    assert result.data_docs is not None
    assert "cases" in Path(result.data_docs).read_text("utf-8")


def image_of(workspace: Path, patient: int) -> Path:
    """An image of the source."""
    return workspace / "source" / "imagesTr" / f"patient{patient:03d}_0000.nii.gz"


def label_of(workspace: Path, patient: int) -> Path:
    """A label of the source."""
    return workspace / "source" / "labelsTr" / f"patient{patient:03d}.nii.gz"


def copy_to_test(workspace: Path) -> None:
    """The patient's own image, unlabelled, among those to predict."""
    (workspace / "source" / "imagesTs").mkdir()
    shutil.copy(image_of(workspace, 0), workspace / "source" / "imagesTs" / "x9_0000.nii.gz")


def keep_one_patient(workspace: Path) -> None:
    """Every other patient leaves."""
    for patient in (1, 2, 3):
        image_of(workspace, patient).unlink()
        label_of(workspace, patient).unlink()


def declare_gap(workspace: Path) -> None:
    """Labels 0 and 2."""
    path = workspace / "source" / "dataset.json"
    raw = json.loads(path.read_text("utf-8")) | {"labels": {"background": 0, "lesion": 2}}
    path.write_text(json.dumps(raw), "utf-8")


def empty_every_label(workspace: Path) -> None:
    """Nothing to learn."""
    for patient in range(4):
        change_voxels(label_of(workspace, patient), np.zeros_like)


@pytest.mark.parametrize(
    ("spoil", "case", "check", "severity"),
    [
        (
            lambda w: change_voxels(image_of(w, 1), np.zeros_like),
            "patient001",
            "intensities",
            Severity.refuse,
        ),
        (
            lambda w: image_of(w, 1).write_bytes(b"GIF89a"),
            "patient001",
            "readable",
            Severity.refuse,
        ),
        (lambda w: image_of(w, 1).unlink(), "patient001", "readable", Severity.refuse),
        (
            lambda w: shutil.copy(image_of(w, 0), image_of(w, 0).with_name("patient000_0000.nii")),
            "patient000_0000.nii",
            "stray file",
            Severity.refuse,
        ),
        (
            lambda w: (w / "source/imagesTr/notes.txt").write_text("", "utf-8"),
            "notes.txt",
            "stray file",
            Severity.warn,
        ),
        (
            lambda w: change_voxels(image_of(w, 2), lambda v: v.astype("f4") * 1e4),
            "data set",
            "intensity scale",
            Severity.warn,
        ),
        (copy_to_test, "patient000", "duplicates", Severity.refuse),
        (keep_one_patient, "data set", "patients", Severity.refuse),
        (declare_gap, "data set", "declared labels", Severity.refuse),
        (empty_every_label, "data set", "foreground", Severity.refuse),
        (
            lambda w: change_voxels(label_of(w, 3), lambda v: 1 - v),
            "patient003",
            "expectation",
            Severity.warn,
        ),
    ],
)
def test_faults_are_found(
    workspace: Path,
    spoil: Callable[[Path], object],
    case: str,
    check: str,
    severity: Severity,
) -> None:
    """Each fault is found where it is, as grave as it is."""
    spoil(workspace)
    result = run_both(workspace)
    assert (case, check, severity) in {(f.case, f.check, f.severity) for f in result.findings}
    assert result.is_accepted == all(f.severity is not Severity.refuse for f in result.findings)


def test_every_fault_is_listed(workspace: Path) -> None:
    """Three faults of three cases come in one go, the gravest first."""
    change_voxels(image_of(workspace, 0), np.zeros_like)
    change_voxels(label_of(workspace, 1), lambda v: v * 7)
    change_voxels(label_of(workspace, 2), lambda v: v * np.float32(0.99999))
    result = run_both(workspace)
    found = [(f.case, f.check) for f in result.findings]
    assert {
        ("patient000", "intensities"),
        ("patient001", "label values"),
        ("patient002", "label rounding"),
    } <= set(found)
    order = [list(Severity).index(f.severity) for f in result.findings]
    assert order == sorted(order)
    assert result.reason.startswith("2 of 4 cases refused: patient000, patient001")


def test_refusal_ends_the_process_with_status_3(root: Path, workspace: Path) -> None:
    """One clear message, no traceback; the result is kept, and the page of findings."""
    change_voxels(label_of(workspace, 1), lambda v: v * 7)
    for stage, status in (("ingest_data", 0), ("validate_data", 3)):
        done = subprocess.run(
            [sys.executable, "-m", f"stages.{stage}"],
            env={"PYTHONPATH": str(root), "HOME": "/proc/1", "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == status, done.stderr
    assert "1 of 4 cases refused: patient001" in done.stderr
    assert "Traceback" not in done.stderr
    result = read(Stage.validate_data, ValidationResult)
    assert not result.is_accepted
    assert "patient001" in Path("reports/validate_data/findings.html").read_text("utf-8")


def test_expectations_can_be_edited(workspace: Path) -> None:
    """A line added to cases.json is held against every case, and its remedy is shown."""
    path = workspace / "data/expectations/cases.json"
    suite = json.loads(path.read_text("utf-8"))
    suite["expectations"].append(
        {
            "type": "expect_column_values_to_be_between",
            "kwargs": {"column": "num_lesion_voxels", "max_value": 0},
            "severity": "critical",
            "meta": {"remedy": "ask the radiologist"},
        }
    )
    path.write_text(json.dumps(suite), "utf-8")
    result = run_both(workspace)
    found = [f for f in result.findings if f.check == "expectation"]
    assert [f.case for f in found] == [f"patient{n:03d}" for n in range(4)]
    assert {f.remedy for f in found} == {"ask the radiologist"}
    assert not result.is_accepted


@pytest.mark.parametrize(
    ("content", "message"),
    [("{", "expected a Great Expectations suite"), (None, "found no such file")],
)
def test_unusable_expectations_are_named(
    workspace: Path, content: str | None, message: str
) -> None:
    """A missing or malformed suite is said, not passed over."""
    path = workspace / "data/expectations/cases.json"
    path.unlink()
    if content is not None:
        path.write_text(content, "utf-8")
    settings = Settings(**dict(load_parameters(workspace / "params.yaml")))
    ingest_data(settings)
    with pytest.raises(InputError, match=message):
        validate_data(settings)


def test_manifest_schema_coerces_nothing(workspace: Path) -> None:
    """A blank count, an unknown column, a repeated name and a foreign split are all found."""
    ingest_data(Settings(**dict(load_parameters(workspace / "params.yaml"))))
    cases = read_manifest()
    path = workspace / "manifest.csv"
    write_manifest(cases, path)
    assert check_manifest(path) == ()
    lines = path.read_text("utf-8").splitlines()
    spoiled = [
        lines[0] + ",colour",
        lines[1].replace(",train,", ",holiday,").replace(",test,", ",holiday,") + ",red",
        *(line + ",red" for line in lines[2:]),
        lines[2] + ",red",
    ]
    path.write_text("\n".join(spoiled) + "\n", "utf-8")
    text = " ".join(describe(f) for f in check_manifest(path))
    assert "colour" in text
    assert "case_id: " in text
    write_manifest(cases, path)
    count = f",{cases[0].num_lesion_voxels},{cases[0].content_hash}"
    path.write_text(path.read_text("utf-8").replace(count, f",,{cases[0].content_hash}"), "utf-8")
    assert "num_lesion_voxels" in " ".join(describe(f) for f in check_manifest(path))


def describe(finding: Finding) -> str:
    """What a person reads."""
    return f"{finding.case} {finding.expected} {finding.found}"
