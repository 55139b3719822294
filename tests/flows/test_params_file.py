"""Changes of params.yaml from the command line."""

import shutil
from pathlib import Path

import pytest
import yaml

from flows.dvc import CLONE
from flows.params_file import change_parameters, plan_changes
from stages.contract import InputError


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A folder with the clone's parameters as a workspace of its own has them."""
    for name in ("params.yaml", "data/phantom.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((CLONE / name).read_bytes())
    change_parameters(tmp_path)
    return tmp_path


@pytest.fixture
def scans(tmp_path: Path) -> Path:
    """A data set to its names: nobody reads an image here."""
    folder = tmp_path / "scans"
    for name in ("imagesTr/case_1_0000.png", "labelsTr/case_1.png"):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_bytes(b"")
    (folder / "dataset.json").write_text(
        '{"channel_names": {"0": "MR"}, "labels": {"background": 0, "lesion": 1}}'
    )
    return folder


def copy_operator(folder: Path) -> Path:
    """An operator from outside; each test gives its own name, which a process can open once."""
    shutil.copytree(CLONE / "tests" / "doors" / "neighbour_count", folder)
    return folder


def text(workspace: Path) -> str:
    return (workspace / "params.yaml").read_text("utf-8")


def test_a_setting_changes_its_line_alone_and_is_said(workspace: Path) -> None:
    """Comments and layout of all other lines stay."""
    before = text(workspace).splitlines()
    said = change_parameters(workspace, ["product.case_shape=[64,96,96]"])
    assert said == ["params.yaml: product.case_shape: [182, 218, 182] -> [64, 96, 96]"]
    changed = [
        (old, new)
        for old, new in zip(before, text(workspace).splitlines(), strict=True)
        if old != new
    ]
    assert len(changed) == 1
    assert changed[0][1].startswith("  case_shape: [64, 96, 96]")
    assert "# null: the largest case" in changed[0][1]


def test_nothing_to_change_leaves_the_file_as_it_is(workspace: Path) -> None:
    """The same value is neither written nor said."""
    before = text(workspace)
    assert change_parameters(workspace, ["training.seed=0"]) == []
    assert text(workspace) == before


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("training.num_steps=0", r"training\.num_steps should be greater than 0, got 0"),
        ("training.num_step=5", r"training\.num_step is not a known key; did you mean num_steps"),
        ("trainin.seed=5", r"trainin is not a section of params\.yaml; known are product"),
        ("training.seed", r"expected section\.key=value"),
        ("product.case_shape=[1,", r"expected a value in YAML"),
        ("data.patient_pattern=nogroup", r"data\.patient_pattern must have a group"),
        ("infrastructure.device=gpu", r"device must be cpu, cuda or cuda:N, got 'gpu'"),
        ("training.workload=here", r"workload must be module:factory, such as .*, got 'here'"),
        ("training.workload=no_such_module_here:make", "found no module no_such_module_here on"),
        ("training.workload=json:make", r"expected .*json/__init__\.py to define make"),
        ("data.source=nowhere", r"-S data\.source=nowhere: .*/nowhere: .* found no such folder"),
        ("algorithm.operator=nowhere", r"-S algorithm\.operator=nowhere: .* got .*/nowhere"),
        ("product.currency=2026-01-01", r"product\.currency should be a valid string"),
        ("training.batch_size=8", r"set twice, by .*batch_size=4 and by .*batch_size=8"),
        ("a.b.c=1", r"a is not a section of params\.yaml"),
    ],
)
def test_a_fault_is_named_and_nothing_is_written(
    workspace: Path, setting: str, message: str
) -> None:
    """Not even the settings beside it that are right."""
    before = text(workspace)
    with pytest.raises(InputError, match=message):
        change_parameters(workspace, ["training.batch_size=4", setting])
    assert text(workspace) == before


def test_values_keep_their_kind(workspace: Path) -> None:
    """Numbers, patterns, maps and null arrive as YAML has them."""
    change_parameters(
        workspace,
        [
            "data.patient_pattern=(.+)_z",
            "data.label_map={255: 1}",
            "product.value_per_month.latency=null",
            "training.learning_rate=1e-3",
        ],
    )
    values = yaml.safe_load(text(workspace))
    assert values["data"]["patient_pattern"] == "(.+)_z"
    assert values["data"]["label_map"] == {255: 1}
    assert values["product"]["value_per_month"]["latency"] is None
    assert values["training"]["learning_rate"] == 0.001


def test_own_data_takes_its_own_largest_case_unless_stated(
    workspace: Path, scans: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """--data is kept as an absolute path; the shape follows the data, and a stated one wins."""
    monkeypatch.chdir(scans.parent)
    change_parameters(workspace, data=Path("scans/../scans"))
    values = yaml.safe_load(text(workspace))
    assert values["data"]["source"] == str(scans)
    assert values["product"]["case_shape"] is None
    change_parameters(workspace, ["product.case_shape=[32,32,32]"], data=scans)
    assert yaml.safe_load(text(workspace))["product"]["case_shape"] == [32, 32, 32]


def test_operator_by_name_or_folder(workspace: Path, tmp_path: Path) -> None:
    """A bundled one by name, one elsewhere by its absolute path; another word is refused."""
    change_parameters(workspace, operator="lesion_loss")
    operator = yaml.safe_load(text(workspace))["algorithm"]["operator"]
    assert operator == str(CLONE / "kernels" / "lesion_loss")
    own = copy_operator(tmp_path / "my own operator")
    change_parameters(workspace, operator=str(own))
    assert yaml.safe_load(text(workspace))["algorithm"]["operator"] == str(own)
    change_parameters(workspace, ["algorithm.operator=connected_components"])
    operator = yaml.safe_load(text(workspace))["algorithm"]["operator"]
    assert operator == str(CLONE / "kernels" / "connected_components")
    with pytest.raises(InputError, match="one of connected_components, distance_transform"):
        change_parameters(workspace, operator="no_such_operator")


def test_a_workload_brings_the_file_of_its_module(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that the cache watches it, the whole of its folder where it is a package; not imported."""
    (tmp_path / "tiny_workload_here.py").write_text("raise SystemExit\nmake = None\n")
    (tmp_path / "tiny_package_here").mkdir()
    (tmp_path / "tiny_package_here" / "__init__.py").write_text("from a.b import make\n")
    monkeypatch.syspath_prepend(tmp_path)
    for module, source in (
        ("tiny_workload_here", "tiny_workload_here.py"),
        ("tiny_package_here", "tiny_package_here"),
    ):
        change_parameters(workspace, [f"training.workload={module}:make"])
        values = yaml.safe_load(text(workspace))
        assert values["training"]["workload_source"] == str(tmp_path / source)


def test_each_fault_is_told_once_and_blamed_on_its_place(workspace: Path) -> None:
    """A value of the command line by its option, one of the file by the file."""
    path = workspace / "params.yaml"
    path.write_text(text(workspace).replace("num_steps: 150", "num_steps: 0"), "utf-8")
    with pytest.raises(InputError) as refused:
        change_parameters(workspace, ["product.case_shape=[0,1]"])
    option = "-S product.case_shape=[0,1]: product.case_shape"
    assert str(refused.value).splitlines() == [
        f"{option}.0 should be greater than or equal to 8, got 0",
        f"{option}.1 should be greater than or equal to 8, got 1",
        f"{path}: training.num_steps should be greater than 0, got 0",
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"product: \xff\n", r"expected text in UTF-8, got byte 0xff at 9"),
        (b"product: [\n", r"expected YAML"),
        (b"data: {}\ndata: {}\n", r"expected YAML: .*duplicate key"),
        (b"", r"expected sections such as product, got ''"),
    ],
)
def test_a_file_that_is_no_parameters_is_refused_as_it_is(
    workspace: Path, content: bytes, message: str
) -> None:
    """Not its bytes are changed, not even where nothing is to be changed."""
    path = workspace / "params.yaml"
    path.write_bytes(content)
    for settings in ([], ["training.seed=1"]):
        with pytest.raises(InputError, match=rf"(?s){path}: {message}"):
            change_parameters(workspace, settings)
    assert path.read_bytes() == content


def test_data_is_judged_by_its_layout(workspace: Path, scans: Path) -> None:
    """A missing or empty folder, a file that is no recipe and a broken description are refused."""
    before = text(workspace)
    (scans / "notes.yaml").write_text("seed_of: doubt\n")
    (scans / "empty").mkdir()
    for name, message in (
        ("nowhere", "found no such folder"),
        ("empty", "found nothing"),
        ("imagesTr/case_1_0000.png", "found a file"),
        ("notes.yaml", "expected a phantom recipe, with seed, .*; found seed_of"),
    ):
        with pytest.raises(InputError, match=f"^--data: .*{message}"):
            change_parameters(workspace, data=scans / name)
    (scans / "dataset.json").write_text("{}")
    with pytest.raises(InputError, match="expected channel_names"):
        change_parameters(workspace, data=scans)
    assert text(workspace) == before


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("spec.py", "SPEC = 1 / 0", "it raised ZeroDivisionError"),
        ("spec.py", "", "it raised AttributeError.*has no attribute 'SPEC'"),
        ("spec.py", "SPEC = {}", "found dict"),
        ("op.py", "def other(mask): ...", "op.py: expected it to define neighbour_count"),
        ("op.py", "def neighbour_count(", "op.py: expected a file of Python"),
        ("standard.py", "class A:\n    COMPOSITIONS = ()", "to define COMPOSITIONS"),
        ("cases.py", None, "missing cases.py"),
    ],
)
def test_an_operator_is_judged_by_its_files(
    workspace: Path, tmp_path: Path, file: str, content: str | None, message: str
) -> None:
    """A file or a name that is missing, or facts that cannot be read, are refused at once."""
    before = text(workspace)
    folder = copy_operator(tmp_path / f"operator_of_{tmp_path.name}")
    (folder / file).unlink()
    if content is not None:
        (folder / file).write_text(content)
    with pytest.raises(InputError, match=f"(?s)^--operator: .*{message}"):
        change_parameters(workspace, operator=str(folder))
    assert text(workspace) == before


def test_names_that_only_a_run_can_tell_are_accepted(workspace: Path, tmp_path: Path) -> None:
    """A star import, or a module's own __getattr__, may bring the name."""
    folder = copy_operator(tmp_path / "operator_of_stars")
    (folder / "op.py").write_text("from elsewhere import *\n")
    (folder / "cases.py").write_text("def __getattr__(name): ...\n")
    change_parameters(workspace, operator=str(folder))
    assert str(folder) in text(workspace)


def test_a_workspace_that_is_yet_to_come_is_judged_by_the_clone(tmp_path: Path) -> None:
    """Nothing is made; the recipe that it will get a copy of counts as there."""
    place = tmp_path / "new"
    plan = plan_changes(place, ["data.source=data/phantom.yaml", "training.seed=3"])
    assert "params.yaml: training.seed: 0 -> 3" in plan.lines
    assert not place.exists()


def test_what_the_file_names_must_still_be_there(workspace: Path, tmp_path: Path) -> None:
    """An operator or data that was moved since is told before another change is written."""
    folder = copy_operator(tmp_path / "operator_to_be_moved")
    change_parameters(workspace, operator=str(folder))
    before = text(workspace)
    folder.rename(tmp_path / "moved")
    with pytest.raises(InputError, match=r"^params\.yaml: algorithm\.operator: found nothing at"):
        change_parameters(workspace, ["training.seed=5"])
    (workspace / "data" / "phantom.yaml").unlink()
    with pytest.raises(InputError, match=r"^params\.yaml: data\.source: found nothing at"):
        change_parameters(workspace, operator="lesion_loss")
    assert text(workspace) == before
