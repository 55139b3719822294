"""Changes of params.yaml from the command line."""

from pathlib import Path

import pytest
import yaml

from flows.dvc import CLONE
from flows.params_file import change_parameters
from stages.contract import InputError


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A folder with the clone's parameters as a workspace of its own has them."""
    (tmp_path / "params.yaml").write_bytes((CLONE / "params.yaml").read_bytes())
    change_parameters(tmp_path)
    return tmp_path


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


def test_own_data_takes_its_own_largest_case_unless_stated(workspace: Path, tmp_path: Path) -> None:
    """--data is kept as an absolute path; the shape follows the data, and a stated one wins."""
    data = tmp_path / "scans"
    data.mkdir()
    change_parameters(workspace, data=data)
    values = yaml.safe_load(text(workspace))
    assert values["data"]["source"] == str(data)
    assert values["product"]["case_shape"] is None
    change_parameters(workspace, ["product.case_shape=[32,32,32]"], data=data)
    assert yaml.safe_load(text(workspace))["product"]["case_shape"] == [32, 32, 32]
    with pytest.raises(InputError, match=r"none at .*nowhere"):
        change_parameters(workspace, data=tmp_path / "nowhere")


def test_operator_by_name_or_folder(workspace: Path, tmp_path: Path) -> None:
    """A bundled one by name, one elsewhere by its absolute path; another word is refused."""
    change_parameters(workspace, operator="lesion_loss")
    operator = yaml.safe_load(text(workspace))["algorithm"]["operator"]
    assert operator == str(CLONE / "kernels" / "lesion_loss")
    own = tmp_path / "my operator"
    own.mkdir()
    change_parameters(workspace, operator=str(own))
    assert yaml.safe_load(text(workspace))["algorithm"]["operator"] == str(own)
    with pytest.raises(InputError, match="one of connected_components, distance_transform"):
        change_parameters(workspace, operator="no_such_operator")


def test_a_workload_brings_the_file_of_its_module(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that the cache watches it; a module that cannot be found is refused."""
    (tmp_path / "tiny_workload_here.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    change_parameters(workspace, ["training.workload=tiny_workload_here:make"])
    source = yaml.safe_load(text(workspace))["training"]["workload_source"]
    assert source == str(tmp_path / "tiny_workload_here.py")
    with pytest.raises(InputError, match="no module no_such_module_here"):
        change_parameters(workspace, ["training.workload=no_such_module_here:make"])
