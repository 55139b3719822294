"""The phantom's recipe, `data/phantom.yaml`: what may be set, within which ranges."""

from pathlib import Path
from typing import Annotated, Self

import yaml
from pydantic import Field, ValidationError, model_validator

from stages.contract import Frozen, InputError

Positive = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=0, le=200)]
Axis = Annotated[int, Field(ge=16, le=512)]
Radius = Annotated[float, Field(gt=0, le=40)]
Contrast = Annotated[float, Field(gt=0, le=10)]


class PhantomRecipe(Frozen):
    """Everything that the phantom depends on; each pair is (lowest, highest), both possible."""

    seed: Annotated[int, Field(ge=0)]
    num_patients: Annotated[int, Field(ge=3, le=1000)]
    """At least one a split."""
    shape: tuple[Axis, Axis, Axis]
    spacing_mm: tuple[Positive, Positive, Positive]
    noise: Annotated[float, Field(ge=0, le=1)]
    bias_field: Annotated[float, Field(ge=0, lt=1)]
    small_lesions: tuple[Count, Count]
    small_radius_mm: tuple[Radius, Radius]
    large_lesions: tuple[Count, Count]
    large_radius_mm: tuple[Radius, Radius]
    contrast: tuple[Contrast, Contrast]

    @property
    def field_of_view_mm(self) -> tuple[float, float, float]:
        """Extent of the volume along each axis, the same at every number of voxels."""
        x, y, z = (n * s for n, s in zip(self.shape, self.spacing_mm, strict=True))
        return x, y, z

    @model_validator(mode="after")
    def _pairs_are_ordered(self) -> Self:
        for name in (
            "small_lesions",
            "small_radius_mm",
            "large_lesions",
            "large_radius_mm",
            "contrast",
        ):
            low, high = getattr(self, name)
            if low > high:
                raise ValueError(f"{name} must be [lowest, highest], got [{low}, {high}]")
        if self.small_lesions[0] + self.large_lesions[0] == 0:
            raise ValueError(
                "small_lesions or large_lesions must start above 0: no patient is empty"
            )
        return self


def read_recipe(path: Path) -> PhantomRecipe:
    """Read and check a recipe.

    Raises:
        InputError: the file is missing or is no recipe; every fault is named.
    """
    try:
        raw = yaml.safe_load(path.read_text("utf-8"))
        if not isinstance(raw, dict) or not set(raw) & set(PhantomRecipe.model_fields):
            found = ", ".join(map(str, raw)) if isinstance(raw, dict) else type(raw).__name__
            raise InputError(
                f"{path}: expected a phantom recipe, with {', '.join(PhantomRecipe.model_fields)}; "
                f"found {found}"
            )
        return PhantomRecipe.model_validate(raw)
    except FileNotFoundError as error:
        raise InputError(f"expected a phantom recipe at {path}, found no such file") from error
    except OSError as error:
        raise InputError(f"{path}: expected a phantom recipe: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: expected a phantom recipe as YAML: {error}") from error
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, e['loc'])) or 'recipe'}: {e['msg']}" for e in error.errors()
        )
        raise InputError(f"{path}: expected a phantom recipe; {faults}") from error
