"""Data sets as they were reported by people in this field: each accepted or refused, and why."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from stages.contract import Data, Finding, Severity, load_parameters
from stages.imaging.judge_folder import judge_folder

CASES = Path(__file__).resolve().parents[3] / "shared" / "cases"
pytestmark = pytest.mark.skipif(
    not (CASES / "index.csv").is_file(), reason=f"{CASES} is absent: it lies outside the repository"
)


@dataclass(frozen=True)
class Expected:
    """What must be found, apart from notes."""

    check: str | None
    severity: Severity | None
    case: str = "case_002"
    words: tuple[str, ...] = ()
    beside: str | None = None
    """A second case that is concerned."""


REFUSE, WARN, NOTE = Severity.refuse, Severity.warn, Severity.note
EXPECTED = {
    "d00_clean": Expected(None, None),
    "d01_shape_mismatch": Expected("shapes", REFUSE, words=("[24, 20, 12]", "[24, 20, 11]")),
    "d02_origin_mismatch": Expected("geometry", REFUSE, words=("30.000 mm",)),
    "d03_affine_rounding": Expected(None, None),
    "d04_float_almost_int": Expected("label rounding", WARN),
    "d05_png_label_255": Expected(
        "label values", REFUSE, words=("255 in 52 voxels", "0 (background), 1 (lesion)", "{255: 1}")
    ),
    "d06_unknown_label": Expected("label values", REFUSE, words=("5 in 318 voxels",)),
    "d07_nan_inf": Expected("finite", REFUSE, words=("1 NaN and 2 infinite", "[3, 3, 3]")),
    "d08_empty_mask": Expected("empty label", NOTE),
    "d09_truncated_gz": Expected(
        "readable", REFUSE, words=("case_002_0000.nii.gz", "compressed data ends early")
    ),
    "d10_big_endian": Expected(None, None),
    "d11_zero_spacing": Expected("spacing", REFUSE, words=("[1.2, 1.2, 0.0]",)),
    "d12_4d_image": Expected(
        "readable", REFUSE, words=("4-D image", "case_002_0000.nii.gz, case_002_0001.nii.gz")
    ),
    "d13_not_gzip": Expected("readable", REFUSE, words=("not gzip", "rename it to .nii")),
    "d14_unicode_path": Expected("patients", NOTE, case="data set", words=("läsion_001",)),
    "d15_duplicate_across_split": Expected(
        "duplicates",
        REFUSE,
        case="case_001",
        words=("case_001 (train", "case_901 (test"),
        beside="case_901",
    ),
    "d16_patient_leak": Expected(
        "patient leak", REFUSE, case="data set", words=("pat01, pat03", "splits_final.json")
    ),
    "d17_qform_sform_disagree": Expected("forms", WARN, words=("sform is used",)),
}


@pytest.fixture(scope="module")
def data(root: Path) -> Data:
    """The repository's settings."""
    return load_parameters(root / "params.yaml").data


def find_folder(name: str) -> Path:
    """The data set itself; one lies a level deeper, under a name of its own."""
    folder = CASES / "data" / name
    return folder if (folder / "dataset.json").is_file() else next(folder.iterdir())


def text(finding: Finding) -> str:
    """All that a person reads."""
    return f"{finding.expected} {finding.found} {finding.remedy}"


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_outcome(name: str, data: Data) -> None:
    """The stated outcome, on the stated case, with the stated facts, and nothing else refused."""
    _, judgement = judge_folder(find_folder(name), data)
    expected = EXPECTED[name]
    assert judgement.is_accepted == (expected.severity is not Severity.refuse)
    serious = [f for f in judgement.findings if f.severity is not Severity.note]
    if expected.check is None:
        assert serious == []
        return
    found = [
        f
        for f in judgement.findings
        if (f.check, f.severity, f.case) == (expected.check, expected.severity, expected.case)
    ]
    assert found, judgement.findings
    for word in expected.words:
        assert any(word in text(finding) for finding in found), (word, found)
    if name != "d05_png_label_255":
        assert {f.case for f in serious} <= {expected.case, expected.beside}
    if expected.beside is not None:
        assert expected.beside in {f.case for f in serious}
    assert "manifest" not in {f.check for f in judgement.findings}


def test_every_stated_case_is_here() -> None:
    """Cases added to the shared folder are not passed over."""
    assert {path.name for path in (CASES / "data").iterdir() if path.is_dir()} == set(EXPECTED)


def test_geometry_is_accepted_on_request(data: Data) -> None:
    """With data.allow_geometry_mismatch the shifted label is a warning."""
    allowed = data.model_copy(update={"allow_geometry_mismatch": True})
    _, judgement = judge_folder(find_folder("d02_origin_mismatch"), allowed)
    assert judgement.is_accepted
    assert [f.severity for f in judgement.findings if f.check == "geometry"] == [Severity.warn]


def test_mapped_labels_are_accepted(data: Data) -> None:
    """With data.label_map the masks of 0 and 255 are lesions."""
    mapped = data.model_copy(update={"label_map": {255: 1}})
    ingest, judgement = judge_folder(find_folder("d05_png_label_255"), mapped)
    assert judgement.is_accepted
    assert ingest.label_map == {255: 1}


def test_almost_whole_labels_keep_their_lesions(data: Data) -> None:
    """0.99999994 counts as 1: the lesions are those of the clean twin."""
    clean, _ = judge_folder(find_folder("d00_clean"), data)
    rounded, _ = judge_folder(find_folder("d04_float_almost_int"), data)
    assert rounded.data_digest == clean.data_digest


def test_big_endian_is_its_twin(data: Data) -> None:
    """Byte order leaves the voxels, hence the digest, as they are."""
    clean, _ = judge_folder(find_folder("d00_clean"), data)
    swapped, _ = judge_folder(find_folder("d10_big_endian"), data)
    assert swapped.data_digest == clean.data_digest


@pytest.mark.parametrize(("name", "status"), [("d00_clean", 0), ("d12_4d_image", 1)])
def test_command_judges_where_nothing_can_be_written(name: str, status: int, root: Path) -> None:
    """Home and current folder refuse every write; the verdict is the exit status, no traceback."""
    done = subprocess.run(
        [sys.executable, "-m", "stages.imaging.judge_folder", str(find_folder(name))],
        cwd="/proc",
        env={"HOME": "/proc/1", "XDG_CONFIG_HOME": "/proc/1", "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    assert ("accepted:" in done.stdout) == (status == 0)


@pytest.mark.parametrize(
    ("name", "num_cases", "num_patients", "warnings"),
    [("open_ms_slices2d", 215, 3, []), ("msd_hippocampus", 260, 260, ["intensity scale"])],
)
def test_real_data_is_accepted(
    name: str, num_cases: int, num_patients: int, warnings: list[str], shared: Path, data: Data
) -> None:
    """Two public data sets pass; 33 hippocampi of another intensity scale are warned of."""
    ingest, judgement = judge_folder(shared / "data" / name, data)
    assert judgement.is_accepted
    assert (ingest.num_cases, ingest.num_patients) == (num_cases, num_patients)
    found = [f for f in judgement.findings if f.severity is Severity.warn]
    assert [f.check for f in found] == warnings
    if warnings:
        assert found[0].found.startswith("33 cases")
