"""Fitting a case to the deployed shape and a prediction back."""

from typing import Literal

import numpy as np
import pytest

from stages.contract import DataShape
from stages.imaging.fitting import fit_image, fit_label, unfit_label


def make_shape(case_shape: tuple[int, ...], fit: Literal["pad", "resample"]) -> DataShape:
    """A shape of which only the case matters here."""
    return DataShape(
        num_channels=1,
        num_classes=2,
        case_shape=case_shape,
        spacing_mm=(1.0,) * len(case_shape),
        working_shape=case_shape,
        fit=fit,
        base_channels=8,
    )


def test_padding_adds_background_at_the_end() -> None:
    """Every voxel keeps its index; what is added is 0."""
    image = np.arange(1, 13, dtype=np.float32).reshape(1, 3, 4)
    fitted = fit_image(image, make_shape((5, 6), "pad"))
    assert fitted.shape == (1, 5, 6)
    np.testing.assert_array_equal(fitted[:, :3, :4], image)
    assert fitted.sum() == image.sum()


def test_padding_never_crops() -> None:
    """A case larger than the deployed shape is an error."""
    with pytest.raises(ValueError, match="never cropped"):
        fit_label(np.zeros((9, 4), np.uint8), make_shape((8, 8), "pad"))


def test_other_axes_are_refused() -> None:
    """A 2-D case does not fit a 3-D shape."""
    with pytest.raises(ValueError, match="expected 3 spatial axes"):
        fit_image(np.zeros((1, 4, 4), np.float32), make_shape((8, 8, 8), "resample"))


def test_resampling_keeps_a_linear_ramp() -> None:
    """Between the outermost centres a ramp stays the ramp that it is in physical space."""
    ramp = (np.arange(8, dtype=np.float32) + 0.5)[None, :, None] * np.ones((1, 1, 4), np.float32)
    fitted = fit_image(ramp, make_shape((16, 4), "resample"))
    expected = np.clip((np.arange(16) + 0.5) / 2, 0.5, 7.5)
    np.testing.assert_allclose(fitted[0, :, 0], expected, rtol=1e-6)


@pytest.mark.parametrize("fit", ["pad", "resample"])
@pytest.mark.parametrize("native", [(9, 10, 11), (16, 8, 5), (16, 16, 16)])
def test_label_comes_back_to_where_it_was(
    fit: Literal["pad", "resample"], native: tuple[int, ...]
) -> None:
    """To a shape at least as fine and back is the identity, dtype included."""
    label = np.random.default_rng(0).integers(0, 3, native).astype(np.uint8)
    shape = make_shape((16, 16, 16), fit)
    fitted = fit_label(label, shape)
    assert fitted.shape == (16, 16, 16)
    back = unfit_label(fitted, native, shape)
    assert back.dtype == label.dtype
    np.testing.assert_array_equal(back, label)


def test_image_and_label_stay_in_register() -> None:
    """A bright voxel and its label meet again after resampling."""
    image = np.zeros((1, 6, 6, 6), np.float32)
    image[0, 4, 1, 3] = 1
    shape = make_shape((18, 12, 24), "resample")
    fitted = fit_image(image, shape)[0]
    label = fit_label((image[0] > 0).astype(np.uint8), shape)
    assert label[np.unravel_index(fitted.argmax(), fitted.shape)] == 1
