"""The phantom: deterministic, the same patient at every size, neither empty nor trivial."""

from pathlib import Path

import numpy as np
import pytest
from scipy import ndimage

from stages.contract import InputError
from stages.imaging.phantom import make_phantom
from stages.imaging.phantom_recipe import PhantomRecipe, read_recipe

COARSE = (32, 32, 32)


@pytest.fixture(scope="module")
def recipe(root: Path) -> PhantomRecipe:
    """The repository's own recipe."""
    return read_recipe(root / "data" / "phantom.yaml")


def test_phantom_is_a_function_of_seed_index_and_shape(recipe: PhantomRecipe) -> None:
    """Two calls agree bit by bit; another patient or another seed does not."""
    image, label = make_phantom(recipe, 3, COARSE)
    again, label_again = make_phantom(recipe, 3, COARSE)
    np.testing.assert_array_equal(image, again)
    np.testing.assert_array_equal(label, label_again)
    assert (make_phantom(recipe, 4, COARSE)[0] != image).any()
    other = recipe.model_copy(update={"seed": recipe.seed + 1})
    assert (make_phantom(other, 3, COARSE)[0] != image).any()


def test_phantom_has_stated_types_and_shapes(recipe: PhantomRecipe) -> None:
    """Image (1, *shape) float32 in whole numbers, label (*shape) uint8 of 0 and 1."""
    image, label = make_phantom(recipe, 0)
    assert image.shape == (1, *recipe.shape)
    assert image.dtype == np.float32
    assert label.shape == recipe.shape
    assert label.dtype == np.uint8
    assert set(np.unique(label).tolist()) == {0, 1}
    np.testing.assert_array_equal(image, np.rint(image))
    assert image.max() < np.iinfo(np.int16).max


def test_same_lesions_at_every_size(recipe: PhantomRecipe) -> None:
    """Lesions keep place and volume between 64^3 and twice as fine."""
    _, coarse = make_phantom(recipe, 1, (64, 64, 64))
    _, fine = make_phantom(recipe, 1, (128, 128, 128))
    assert fine.mean() == pytest.approx(coarse.mean(), rel=0.05)
    centre = np.array(ndimage.center_of_mass(coarse)) + 0.5
    fine_centre = (np.array(ndimage.center_of_mass(fine)) + 0.5) / 2
    # Half a voxel of 64^3 is what the coarse grid can shift a centre by.
    np.testing.assert_allclose(centre, fine_centre, atol=0.5)
    # A coarse lesion voxel lies in or beside a fine one.
    reached = ndimage.binary_dilation(fine, iterations=2)[::2, ::2, ::2]
    assert (reached[coarse == 1]).mean() > 0.99


def test_background_is_zero_and_brain_is_not(recipe: PhantomRecipe) -> None:
    """The volume is skull-stripped: one connected brain of at least 1, 0 around it."""
    image, label = make_phantom(recipe, 2)
    brain = image[0] > 0
    sizes = np.bincount(ndimage.label(brain)[0].ravel())[1:]
    assert 0.15 < brain.mean() < 0.4
    assert sizes.max() / brain.sum() > 0.99
    assert image[0][~brain].max() == 0
    assert brain[label == 1].all()
    for axis in range(3):
        assert not brain.take([0, -1], axis).any()


@pytest.mark.parametrize("index", [0, 5, 23])
def test_many_lesions_some_hard_to_see(recipe: PhantomRecipe, index: int) -> None:
    """Every patient has many small lesions; no threshold of the image alone finds them."""
    image, label = make_phantom(recipe, index)
    components, number = ndimage.label(label, np.ones((3, 3, 3)))
    sizes = np.bincount(components.ravel())[1:]
    assert number >= 8
    assert np.median(sizes) < 40
    thresholds = np.percentile(image[image > 0], [95, 97, 98, 99, 99.5])
    guesses = [image[0] > threshold for threshold in thresholds]
    dice = [2 * label[guess].sum() / (guess.sum() + label.sum()) for guess in guesses]
    assert max(dice) < 0.9


def test_lesions_are_brighter_than_their_surroundings(recipe: PhantomRecipe) -> None:
    """There is something to learn: on average lesions stand out from what is around them."""
    image, label = make_phantom(recipe, 0)
    around = ndimage.binary_dilation(label, iterations=3) & ~ndimage.binary_dilation(label)
    rim = around & (image[0] > 0)
    assert image[0][label == 1].mean() > 1.1 * image[0][rim].mean()


def test_wrong_shape_is_refused(recipe: PhantomRecipe) -> None:
    """Two axes, or a negative index, are the caller's mistake."""
    with pytest.raises(ValueError, match="three axes"):
        make_phantom(recipe, 0, (32, 32))
    with pytest.raises(ValueError, match="at least 0"):
        make_phantom(recipe, -1)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("num_patients", 2, "num_patients"),
        ("contrast", [0.5, 0.1], r"contrast must be \[lowest, highest\]"),
        ("colour", "red", "colour"),
        ("noise", -1, "noise"),
    ],
)
def test_faults_in_a_recipe_are_named(
    recipe: PhantomRecipe, tmp_path: Path, key: str, value: object, message: str
) -> None:
    """A recipe out of range, or with an unknown key, is refused with the key."""
    import yaml

    path = tmp_path / "phantom.yaml"
    path.write_text(yaml.safe_dump(recipe.model_dump(mode="json") | {key: value}), "utf-8")
    with pytest.raises(InputError, match=message):
        read_recipe(path)


def test_missing_recipe_is_named(tmp_path: Path) -> None:
    """The path of a recipe that is not there is in the message."""
    with pytest.raises(InputError, match=r"nowhere\.yaml"):
        read_recipe(tmp_path / "nowhere.yaml")
