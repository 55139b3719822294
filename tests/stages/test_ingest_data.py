"""`ingest_data`: what data is this, in a manifest."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import nibabel
import numpy as np
import pytest
import yaml

from stages.contract import (
    DataShape,
    InputError,
    Settings,
    SourceKind,
    load_parameters,
    read_manifest,
)
from stages.imaging.full_case import load_full_case
from stages.imaging.phantom import make_phantom
from stages.imaging.phantom_folder import write_phantom_folder
from stages.imaging.phantom_recipe import PhantomRecipe, read_recipe
from stages.imaging.reading import read_case
from stages.ingest_data import ingest_data


@pytest.fixture(scope="module")
def recipe(root: Path) -> PhantomRecipe:
    """The repository's phantom, small: five patients of 24^3 voxels in the same field of view."""
    default = read_recipe(root / "data" / "phantom.yaml")
    spacing = tuple(extent / 24 for extent in default.field_of_view_mm)
    small = {"num_patients": 5, "shape": (24, 24, 24), "spacing_mm": spacing}
    return PhantomRecipe.model_validate(default.model_dump() | small)


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recipe: PhantomRecipe) -> Path:
    """An empty workspace with the small recipe, made the current folder."""
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(recipe.model_dump(mode="json")), "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def folder(workspace: Path, recipe: PhantomRecipe) -> Path:
    """An nnU-Net folder under a name with blanks and other letters."""
    target = workspace / "Prüfung 肺"
    write_phantom_folder(recipe, target)
    return target


def settings_for(root: Path, source: Path | str, **changes: object) -> Settings:
    """The repository's settings with another source."""
    parameters = load_parameters(root / "params.yaml")
    data = parameters.data.model_copy(update={"source": str(source)} | changes)
    return Settings(**(dict(parameters) | {"data": data}))


def test_phantom_is_written_and_listed(root: Path, workspace: Path, recipe: PhantomRecipe) -> None:
    """Every patient is a case whose files hold exactly what the generator makes."""
    result = ingest_data(settings_for(root, "recipe.yaml"))
    cases = read_manifest()
    assert (result.kind, result.num_cases, result.num_patients) == (SourceKind.phantom, 5, 5)
    assert (result.num_train, result.num_validation, result.num_test) == (3, 1, 1)
    assert [case.patient for case in cases] == [f"patient{n:03d}" for n in range(5)]
    assert not Path(cases[0].images[0]).is_absolute()
    image, label = read_case(cases[2])
    expected_image, expected_label = make_phantom(recipe, 2)
    np.testing.assert_array_equal(image, expected_image)
    np.testing.assert_array_equal(label, expected_label)
    assert cases[2].num_lesion_voxels == expected_label.sum()
    assert cases[2].spacing_mm == pytest.approx(recipe.spacing_mm, rel=1e-4)


def test_repeated_ingest_gives_the_same_bytes(root: Path, workspace: Path) -> None:
    """Otherwise every dependent stage would run again."""
    settings = settings_for(root, "recipe.yaml")
    ingest_data(settings)
    files = {p: p.read_bytes() for p in (workspace / "reports").rglob("*") if p.is_file()}
    ingest_data(settings)
    assert files == {p: p.read_bytes() for p in (workspace / "reports").rglob("*") if p.is_file()}


def test_full_case_of_a_phantom_is_made_at_that_size(
    root: Path, workspace: Path, recipe: PhantomRecipe
) -> None:
    """The deployed case is the same patient, generated at the case's shape."""
    result = ingest_data(settings_for(root, "recipe.yaml"))
    shape = DataShape(1, 2, (40, 48, 40), (4.0, 4.0, 4.0), (16, 16, 16), "resample", 8)
    image, label = load_full_case(result, read_manifest()[3:], shape)
    expected = make_phantom(recipe, 3, (40, 48, 40))
    np.testing.assert_array_equal(image, expected[0])
    np.testing.assert_array_equal(label, expected[1])


def test_full_case_of_a_folder_is_padded(root: Path, folder: Path) -> None:
    """Own data is read and fitted."""
    result = ingest_data(settings_for(root, folder))
    shape = DataShape(1, 2, (32, 24, 32), result.median_spacing_mm, (16, 16, 16), "pad", 8)
    image, label = load_full_case(result, read_manifest(), shape)
    native, _ = read_case(read_manifest()[0])
    assert (image.shape, label.shape) == ((1, 32, 24, 32), (32, 24, 32))
    np.testing.assert_array_equal(image[:, :24, :24, :24], native)


def test_own_folder_is_read_where_it_lies(root: Path, folder: Path) -> None:
    """Paths are absolute, names stay whole, nothing is copied."""
    result = ingest_data(settings_for(root, folder.name))
    cases = read_manifest()
    assert result.kind is SourceKind.nnunet
    assert Path(cases[0].images[0]) == folder.resolve() / "imagesTr" / "patient000_0000.nii.gz"
    assert list(Path("reports").rglob("*.nii.gz")) == []
    assert result.label_names == ("background", "lesion")


def test_decathlon_folder_with_channels_on_the_last_axis(root: Path, workspace: Path) -> None:
    """One file a case, four axes, the older dialect of dataset.json, imagesTs as the test split."""
    source = workspace / "Task99"
    generator = np.random.default_rng(0)
    for folder, count in (("Tr", 3), ("Ts", 1)):
        for n in range(count):
            image = generator.integers(0, 99, (9, 8, 7, 2)).astype(np.int16)
            label = np.zeros((9, 8, 7), np.uint8)
            label[1:3, 1, 1] = 2
            label[6, 6, 6] = 1
            for kind, voxels in (("images", image), ("labels", label)):
                (source / f"{kind}{folder}").mkdir(parents=True, exist_ok=True)
                path = source / f"{kind}{folder}" / f"{folder}{n}.nii.gz"
                nibabel.save(nibabel.Nifti1Image(voxels, np.eye(4)), path)
    training = [{"image": f"./imagesTr/Tr{n}.nii.gz", "label": ""} for n in range(3)]
    description = {
        "name": "Two",
        "modality": {"0": "T1", "1": "T2"},
        "labels": {"0": "background", "1": "a", "2": "b"},
        "training": training,
    }
    (source / "dataset.json").write_text(json.dumps(description), "utf-8")
    result = ingest_data(settings_for(root, source))
    cases = read_manifest()
    assert result.kind is SourceKind.decathlon
    assert result.channel_names == ("T1", "T2")
    assert result.label_names == ("background", "a", "b")
    assert {case.channel_axis for case in cases} == {3}
    assert [case.case_id for case in cases if case.split == "test"] == ["Ts0"]
    assert {(case.num_lesions, case.num_lesion_voxels) for case in cases} == {(2, 3)}
    assert read_case(cases[0])[0].shape == (2, 9, 8, 7)


def test_patients_are_never_split(root: Path, folder: Path) -> None:
    """Visits of a patient share its split; the pattern says who is who."""
    for part in ("imagesTr/patient001_0000.nii.gz", "labelsTr/patient001.nii.gz"):
        shutil.copy(folder / part, folder / part.replace("patient001", "patient001b"))
    result = ingest_data(settings_for(root, folder))
    splits = {case.case_id: case.split for case in read_manifest()}
    assert result.num_patients == 5
    assert splits["patient001"] == splits["patient001b"]


def test_unknown_patients_are_counted_once(root: Path, folder: Path) -> None:
    """Where no name matches, one note says that no patient-level split can be proven."""
    result = ingest_data(settings_for(root, folder, patient_pattern=r"(scan\d+)"))
    notes = [note for note in result.notes if "no patient-level split can be proven" in note]
    assert len(notes) == 1
    assert "5 of 5 cases" in notes[0]


def test_unreadable_cases_are_listed_and_the_rest_goes_on(root: Path, folder: Path) -> None:
    """A damaged image and a missing label leave the manifest, each with its reason."""
    (folder / "imagesTr" / "patient001_0000.nii.gz").write_bytes(b"\x1f\x8b\x08\x00")
    (folder / "labelsTr" / "patient002.nii.gz").unlink()
    result = ingest_data(settings_for(root, folder))
    assert result.num_cases == 3
    assert [line.split(":")[0] for line in result.unreadable] == ["patient001", "patient002"]
    assert "label missing" in result.unreadable[1]


def empty(folder: Path) -> None:
    """No images at all."""
    for path in (folder / "imagesTr").iterdir():
        path.unlink()
    for path in (folder / "labelsTr").iterdir():
        path.unlink()


def spoil_every_image(folder: Path) -> None:
    """Not one case can be read."""
    for path in (folder / "imagesTr").iterdir():
        path.write_bytes(b"no image")


def describe_wrongly(**changes: object) -> object:
    """Replace keys of dataset.json."""

    def change(folder: Path) -> None:
        path = folder / "dataset.json"
        path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | changes), "utf-8")

    return change


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (empty, "expected images such as imagesTr/case_0000"),
        (spoil_every_image, "expected readable cases"),
        (lambda f: (f / "dataset.json").unlink(), "expected an nnU-Net or Medical Segmentation"),
        (lambda f: (f / "dataset.json").write_text("{", "utf-8"), "expected JSON such as"),
        (lambda f: (f / "dataset.json").write_text("[]", "utf-8"), "expected an object"),
        (describe_wrongly(file_ending=".mha"), "file_ending must be one of"),
        (describe_wrongly(channel_names=None), "expected channel_names"),
        (describe_wrongly(channel_names={"1": "a"}), "numbered 0, 1"),
        (describe_wrongly(labels={}), "expected labels"),
        (describe_wrongly(labels={"all": [1, 2]}), "regions are not supported"),
        (describe_wrongly(labels={"a": 1, "b": 1}), "the same value 1"),
        (describe_wrongly(training={"a": 1}), "training must be a list"),
        (lambda f: (f / "splits_final.json").write_text("{}{", "utf-8"), "expected a list such as"),
    ],
)
def test_unusable_folders_are_refused(
    root: Path, folder: Path, spoil: object, message: str
) -> None:
    """What was looked for, and what to do, is in the message."""
    spoil(folder)  # type: ignore[operator]
    with pytest.raises(InputError, match=message):
        ingest_data(settings_for(root, folder))


def test_parent_folder_hints_at_the_data_set(root: Path, folder: Path) -> None:
    """One level too high: the folder that was meant is named."""
    with pytest.raises(InputError, match=r"did you mean .*Prüfung 肺"):
        ingest_data(settings_for(root, folder.parent))


def test_missing_folder_is_named(root: Path, workspace: Path) -> None:
    """A path that is not there."""
    with pytest.raises(InputError, match=r"nowhere: expected .* found no such folder"):
        ingest_data(settings_for(root, "nowhere"))


def test_light_stages_import_nothing_heavy(root: Path, workspace: Path) -> None:
    """`environment` and `ingest_data` run as processes without torch, MONAI, MLflow or pandas."""
    for name in ("dvc.yaml", "params.yaml"):
        shutil.copy(root / name, name)
    text = Path("params.yaml").read_text("utf-8").replace("data/phantom.yaml", "recipe.yaml")
    Path("params.yaml").write_text(text, "utf-8")
    script = (
        "import sys, stages.environment, stages.ingest_data\n"
        "stages.environment.main()\n"
        "stages.ingest_data.main()\n"
        "heavy = {'torch', 'monai', 'mlflow', 'prefect', 'pandas'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": str(root), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert Path("reports/environment/result.json").is_file()
    assert Path("reports/ingest_data/result.json").is_file()
