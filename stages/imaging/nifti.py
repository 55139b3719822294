"""Read NIfTI files so that nothing is repaired in silence.

nibabel mends a faulty header as it loads (a spacing of 0 becomes 1), so the header's own bytes are
parsed here. The affine follows one rule, for images and labels alike: the sform if its code is
above 0, else the qform if its code is above 0, else the spacing alone.
"""

import gzip
import zlib
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
from nibabel.spatialimages import HeaderDataError
from numpy.typing import NDArray

from stages.contract import InputError

_GZIP_MAGIC = b"\x1f\x8b"
_LARGEST_HEADER = 540


@dataclass(frozen=True)
class Raster:
    """Voxels of one file as stored (scaled by the header's slope), with what its header says."""

    voxels: NDArray[Any]
    dtype: str
    """As stored, such as "int16" or ">i2"."""
    spacing_mm: tuple[float, ...]
    """Along each spatial axis; 0 or less where the header says so."""
    affine: NDArray[np.float64] | None
    """(4, 4) from voxels to mm; None for a file that has none."""
    forms_offset_mm: float | None
    """How far the sform and the qform place a corner apart, at most; None where only one is set."""
    units: str
    """"mm" or "unknown", or another unit that the header states."""


def read_nifti(path: Path) -> Raster:
    """Read one `.nii` or `.nii.gz` file; trailing axes of size 1 are dropped beyond three.

    Raises:
        InputError: the file is missing, cut short, not what its name says, or holds no plain
        numbers.
    """
    content = _read_bytes(path)
    header = _parse_header(content, path)
    dtype = header.get_data_dtype()
    if dtype.kind not in "iuf":
        raise InputError(f"{path}: expected whole or real numbers, found voxels of type {dtype}")
    try:
        voxels = np.asarray(header.data_from_fileobj(BytesIO(content)))
    except (OSError, ValueError, EOFError) as error:
        raise InputError(
            f"{path}: unreadable, the voxels end early ({error}); copy it again"
        ) from error
    while voxels.ndim > 3 and voxels.shape[-1] == 1:
        voxels = voxels[..., 0]
    affine = choose_affine(header)
    if not np.isfinite(affine).all():
        raise InputError(f"{path}: expected a finite affine, found {affine.tolist()}")
    return Raster(
        voxels=voxels,
        dtype=str(dtype),
        spacing_mm=_choose_spacing(header, affine, min(voxels.ndim, 3)),
        affine=affine,
        forms_offset_mm=_measure_disagreement(header, voxels.shape),
        units=str(header.get_xyzt_units()[0]),
    )


def choose_affine(header: Any) -> NDArray[np.float64]:
    """The affine by the stated rule."""
    if int(header["sform_code"]) > 0:
        return np.asarray(header.get_sform(), np.float64)
    qform = _read_qform(header)
    if int(header["qform_code"]) > 0 and qform is not None:
        return qform
    return np.diag([*np.abs(header["pixdim"][1:4].astype(np.float64)), 1.0])


def _read_bytes(path: Path) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be opened ({error.strerror})") from error
    is_gzip = content.startswith(_GZIP_MAGIC)
    if not path.name.endswith(".gz"):
        if is_gzip:
            raise InputError(f"{path}: gzip data under the name .nii; rename it to .nii.gz")
        return content
    if not is_gzip:
        is_nifti = content[344:347] in (b"n+1", b"ni1") or content[4:7] == b"n+2"
        found = "plain NIfTI; rename it to .nii" if is_nifti else "something else"
        raise InputError(f"{path}: expected gzip data, this is not gzip but {found}")
    try:
        return gzip.decompress(content)
    except EOFError as error:
        raise InputError(
            f"{path}: unreadable, the compressed data ends early; copy it again"
        ) from error
    except (zlib.error, OSError) as error:
        raise InputError(
            f"{path}: unreadable, the compressed data is damaged ({error}); copy it again"
        ) from error


def _parse_header(content: bytes, path: Path) -> Any:
    """The header as it stands, in either byte order, NIfTI-1 or NIfTI-2."""
    head = content[:_LARGEST_HEADER]
    kinds = (nibabel.Nifti2Header, nibabel.Nifti1Header)
    kind = next((k for k in kinds if k.may_contain_header(head)), None)
    if kind is None:
        raise InputError(
            f"{path}: expected a NIfTI file, found no NIfTI header in its {len(content)} bytes"
        )
    try:
        header = kind(head[: kind.template_dtype.itemsize], check=False)
        header.get_data_dtype()
        shape = header.get_data_shape()
    except (HeaderDataError, ValueError, KeyError) as error:
        raise InputError(f"{path}: the NIfTI header is damaged ({error})") from error
    if not shape or min(shape) < 1:
        raise InputError(
            f"{path}: expected at least one voxel along every axis, found {list(shape)}"
        )
    return header


def _choose_spacing(header: Any, affine: NDArray[np.float64], num_axes: int) -> tuple[float, ...]:
    """Voxel sizes of the form in use: the sform's columns, else the header's own figures."""
    if int(header["sform_code"]) > 0:
        sizes = np.linalg.norm(affine[:3, :3], axis=0)
    else:
        sizes = header["pixdim"][1:4].astype(np.float64)
    return tuple(float(round(size, 6)) if np.isfinite(size) else 0.0 for size in sizes[:num_axes])


def _read_qform(header: Any) -> NDArray[np.float64] | None:
    try:
        return np.asarray(header.get_qform(), np.float64)
    except (HeaderDataError, ValueError):
        return None


def _measure_disagreement(header: Any, shape: tuple[int, ...]) -> float | None:
    if int(header["sform_code"]) <= 0 or int(header["qform_code"]) <= 0:
        return None
    qform = _read_qform(header)
    if qform is None:
        return None
    return largest_offset_mm(np.asarray(header.get_sform(), np.float64), qform, shape)


def largest_offset_mm(
    one: NDArray[np.float64], other: NDArray[np.float64], shape: tuple[int, ...]
) -> float:
    """How far two affines place a corner of the volume apart, at most, in mm."""
    ends = [(0, n - 1) for n in (*shape[:3], 1, 1)[:3]]
    corners = np.array([[x, y, z, 1] for x in ends[0] for y in ends[1] for z in ends[2]], float)
    return float(np.linalg.norm((corners @ (one - other).T)[:, :3], axis=1).max())
