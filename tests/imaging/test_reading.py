"""Reading files: nothing is repaired, guessed or cropped in silence."""

import gzip
from pathlib import Path

import nibabel
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from stages.contract import Case, InputError
from stages.imaging.hashing import hash_voxels
from stages.imaging.reading import map_label, read_case, read_raster, round_label

SHAPE = (5, 4, 3)


def write(
    path: Path, voxels: NDArray[np.generic], affine: NDArray[np.float64] | None = None
) -> str:
    """Write NIfTI and say where."""
    image = nibabel.Nifti1Image(voxels, np.diag([2.0, 3.0, 4.0, 1.0]) if affine is None else affine)
    nibabel.save(image, path)
    return str(path)


def numbers(dtype: str = "int16") -> NDArray[np.generic]:
    """Distinct values, so that a transposed axis shows."""
    return np.arange(np.prod(SHAPE)).reshape(SHAPE).astype(dtype)


def make_case(images: tuple[str, ...], label: str) -> Case:
    """A row of the manifest around the files."""
    return Case(
        case_id="one",
        patient="one",
        split="train",
        images=images,
        label=label,
        shape=SHAPE,
        spacing_mm=(2, 3, 4),
        num_lesions=0,
        num_lesion_voxels=0,
        content_hash="0" * 64,
    )


def test_case_comes_channels_first_and_contiguous(tmp_path: Path) -> None:
    """Channels stack in order; the spatial axes stay the file's; memory is in C order."""
    images = tuple(write(tmp_path / f"a_{n:04d}.nii.gz", numbers() + n) for n in range(2))
    image, label = read_case(make_case(images, write(tmp_path / "a.nii.gz", numbers("uint8") % 2)))
    assert image.dtype == np.float32
    assert image.flags.c_contiguous
    np.testing.assert_array_equal(image, np.stack([numbers(), numbers() + 1]))
    assert label.dtype == np.int64
    np.testing.assert_array_equal(label, numbers() % 2)


def test_channels_on_the_last_axis_of_one_file(tmp_path: Path) -> None:
    """A Decathlon file of four axes comes channels first."""
    voxels = np.stack([numbers(), numbers() + 7], axis=-1)
    case = make_case(
        (write(tmp_path / "a.nii.gz", voxels),), write(tmp_path / "l.nii.gz", numbers("uint8"))
    )
    image, _ = read_case(case.model_copy(update={"channel_axis": 3}))
    np.testing.assert_array_equal(image, np.moveaxis(voxels, 3, 0))


def test_png_is_rows_by_columns(tmp_path: Path) -> None:
    """A picture of 3 rows and 5 columns has shape (3, 5) and counts as 1 mm."""
    pixels = np.arange(15, dtype=np.uint8).reshape(3, 5)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    raster = read_raster(tmp_path / "a.png")
    np.testing.assert_array_equal(raster.voxels, pixels)
    assert raster.spacing_mm == (1.0, 1.0)


def test_colour_png_is_refused_by_name(tmp_path: Path) -> None:
    """A picture of three colours is never averaged to grey."""
    Image.fromarray(np.zeros((3, 5, 3), np.uint8)).save(tmp_path / "a.png")
    with pytest.raises(InputError, match=r"a\.png: expected one channel .* mode RGB"):
        read_raster(tmp_path / "a.png")


def test_zero_spacing_is_reported_as_it_stands(tmp_path: Path) -> None:
    """Where there is no sform, the header's own 0 comes through; nibabel alone would say 1."""
    header = nibabel.Nifti1Image(numbers(), np.eye(4)).header
    header["pixdim"][1:4] = (1.2, 1.2, 0.0)
    header["sform_code"], header["qform_code"] = 0, 1
    content = header.binaryblock + b"\0" * 4 + numbers().tobytes(order="F")
    (tmp_path / "a.nii").write_bytes(content)
    assert read_raster(tmp_path / "a.nii").spacing_mm == pytest.approx((1.2, 1.2, 0.0))


@pytest.mark.parametrize(("code", "expected"), [(2, (5.0, 6.0, 7.0)), (0, (2.0, 3.0, 4.0))])
def test_sform_rules_where_its_code_is_set(
    tmp_path: Path, code: int, expected: tuple[float, ...]
) -> None:
    """Spacing and affine follow the sform if its code is above 0, else the qform."""
    image = nibabel.Nifti1Image(numbers(), None)
    image.set_qform(np.diag([2.0, 3.0, 4.0, 1.0]), code=1)
    image.set_sform(np.diag([5.0, 6.0, 7.0, 1.0]), code=code)
    image.header["pixdim"][1:4] = (2.0, 3.0, 4.0)
    nibabel.save(image, tmp_path / "a.nii")
    raster = read_raster(tmp_path / "a.nii")
    assert raster.spacing_mm == expected
    assert raster.affine is not None
    np.testing.assert_allclose(np.diag(raster.affine)[:3], expected)
    assert (raster.forms_offset_mm is None) == (code == 0)


def test_big_endian_equals_little_endian(tmp_path: Path) -> None:
    """Byte order changes neither values nor hash."""
    little = read_raster(write(tmp_path / "a.nii", numbers("<i2"))).voxels
    big_header = nibabel.Nifti1Header(endianness=">")
    big_header.set_data_dtype(">i2")
    big = nibabel.Nifti1Image(numbers(">i2"), np.eye(4), big_header)
    nibabel.save(big, tmp_path / "b.nii")
    raster = read_raster(tmp_path / "b.nii")
    assert raster.dtype == ">i2"
    np.testing.assert_array_equal(raster.voxels, little)
    assert hash_voxels(raster.voxels.astype("f4")) == hash_voxels(little.astype("f4"))


def test_hash_is_of_voxels_alone(tmp_path: Path) -> None:
    """Number type, header and compression leave the hash, one voxel or the shape changes it."""
    hashes = {
        hash_voxels(read_raster(write(tmp_path / name, numbers(dtype), affine)).voxels.astype("f4"))
        for name, dtype, affine in (
            ("a.nii", "int16", np.diag([2.0, 3, 4, 1])),
            ("b.nii.gz", "float64", np.eye(4)),
            ("c.nii.gz", "uint8", np.diag([9.0, 9, 9, 1])),
        )
    }
    assert len(hashes) == 1
    changed = numbers("float32")
    changed[0, 0, 0] += 1
    flat = numbers("float32").reshape(4, 5, 3)
    assert len(hashes | {hash_voxels(changed), hash_voxels(flat)}) == 3


def test_label_is_part_of_the_content_hash() -> None:
    """The same image with another label is another content."""
    image, label = numbers("float32")[None], np.zeros(SHAPE, np.int64)
    other = label.copy()
    other[0, 0, 0] = 1
    assert len({hash_voxels(image), hash_voxels(image, label), hash_voxels(image, other)}) == 3


def test_almost_whole_labels_are_rounded() -> None:
    """0.99999994 is 1, never cut down to 0."""
    label = round_label(np.array([0.0, 0.99999994, 2.0001], np.float32), "a.nii")
    np.testing.assert_array_equal(label, [0, 1, 2])


@pytest.mark.parametrize(
    ("values", "message"), [([0.5, 1.0], "whole numbers.*0.5"), ([np.nan, 1.0], "1 voxels of NaN")]
)
def test_other_numbers_are_no_labels(values: list[float], message: str) -> None:
    """Halves and NaN are refused with the file's name."""
    with pytest.raises(InputError, match=rf"a\.nii: .*{message}"):
        round_label(np.array(values), "a.nii")


def test_label_map_replaces_at_once() -> None:
    """A swap of 1 and 2 swaps, and other values stay."""
    label = np.array([0, 1, 2, 3])
    np.testing.assert_array_equal(map_label(label, {1: 2, 2: 1}), [0, 2, 1, 3])


def test_label_map_reaches_the_case(tmp_path: Path) -> None:
    """read_case hands the map on."""
    images = (write(tmp_path / "a_0000.nii", numbers()),)
    label = write(tmp_path / "a.nii", np.full(SHAPE, 255, np.uint8))
    assert set(np.unique(read_case(make_case(images, label), {255: 1})[1])) == {1}


def test_shapes_that_differ_are_refused(tmp_path: Path) -> None:
    """A label one slice short is named with both shapes."""
    images = (write(tmp_path / "a_0000.nii", numbers()),)
    label = write(tmp_path / "a.nii", numbers("uint8")[..., :2])
    with pytest.raises(InputError, match=r"\[5, 4, 3\], found \[5, 4, 2\]"):
        read_case(make_case(images, label))


@pytest.mark.parametrize(
    ("name", "spoil", "message"),
    [
        ("a.nii.gz", lambda b: gzip.compress(b)[:-40], "compressed data ends early"),
        ("a.nii.gz", lambda b: gzip.compress(b)[:30] + b"\xff" * 60, "damaged|ends early"),
        ("a.nii.gz", lambda b: b, "not gzip but plain NIfTI; rename it to .nii"),
        ("a.nii.gz", lambda b: b"GIF89a" + b"\0" * 600, "not gzip but something else"),
        ("a.nii", lambda b: gzip.compress(b), r"gzip data under the name .nii"),
        ("a.nii", lambda b: b[:-10], "voxels end early"),
        ("a.nii", lambda b: b[:100], "no NIfTI header"),
        ("a.nii", lambda b: b"", "no NIfTI header in its 0 bytes"),
    ],
)
def test_damaged_files_are_told_apart(
    tmp_path: Path, name: str, spoil: object, message: str
) -> None:
    """Each kind of damage has its own message, with the file's name."""
    content = nibabel.Nifti1Image(numbers(), np.eye(4)).to_bytes()
    (tmp_path / name).write_bytes(spoil(content))  # type: ignore[operator]
    with pytest.raises(InputError, match=message) as caught:
        read_raster(tmp_path / name)
    assert name in str(caught.value)


def test_missing_and_unknown_files_are_named(tmp_path: Path) -> None:
    """A file that is not there, and one of an unknown kind."""
    with pytest.raises(InputError, match=r"gone\.nii\.gz: cannot be opened"):
        read_raster(tmp_path / "gone.nii.gz")
    with pytest.raises(InputError, match=r"gone\.png: cannot be opened"):
        read_raster(tmp_path / "gone.png")
    with pytest.raises(InputError, match=r"expected a file ending in"):
        read_raster(tmp_path / "scan.mha")


def test_damaged_png_is_named(tmp_path: Path) -> None:
    """A picture cut short is unreadable, not grey."""
    generator = np.random.default_rng(0)
    Image.fromarray(generator.integers(0, 255, (64, 64), np.uint8)).save(tmp_path / "a.png")
    content = (tmp_path / "a.png").read_bytes()
    (tmp_path / "a.png").write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match=r"a\.png: unreadable picture"):
        read_raster(tmp_path / "a.png")


def test_scaling_of_the_header_is_applied(tmp_path: Path) -> None:
    """Stored numbers times slope plus intercept are what comes out."""
    image = nibabel.Nifti1Image(numbers(), np.eye(4))
    content = bytearray(image.to_bytes())
    content[112:120] = np.array([2.0, 10.0], "<f4").tobytes()
    (tmp_path / "a.nii").write_bytes(bytes(content))
    np.testing.assert_allclose(read_raster(tmp_path / "a.nii").voxels, numbers("float64") * 2 + 10)
