"""Read 2-D pictures of one channel: PNG, through Pillow."""

from pathlib import Path

import numpy as np
from PIL import Image, UnidentifiedImageError

from stages.contract import InputError
from stages.imaging.nifti import Raster

_SINGLE_CHANNEL_MODES = frozenset({"1", "L", "I", "I;16", "I;16B", "F"})


def read_picture(path: Path) -> Raster:
    """Read one picture, (rows, columns); a picture has no spacing of its own and counts as 1 mm.

    Raises:
        InputError: the file is missing, damaged, or holds colours instead of one channel.
    """
    try:
        with Image.open(path) as picture:
            if picture.mode not in _SINGLE_CHANNEL_MODES:
                raise InputError(
                    f"{path}: expected one channel of grey values, found a picture of mode "
                    f"{picture.mode}; save one file a channel (_0000, _0001, ...)"
                )
            picture.load()
            pixels = np.asarray(picture)
    except FileNotFoundError as error:
        raise InputError(f"{path}: cannot be opened (no such file)") from error
    except UnidentifiedImageError as error:
        raise InputError(f"{path}: expected a picture, found something else") from error
    except (OSError, SyntaxError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: unreadable picture ({error}); copy it again") from error
    if pixels.dtype == bool:
        pixels = pixels.astype(np.uint8)
    return Raster(
        voxels=pixels,
        dtype=str(pixels.dtype),
        spacing_mm=(1.0, 1.0),
        affine=None,
        forms_offset_mm=None,
        units="unknown",
    )
