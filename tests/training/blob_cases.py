"""A small job on blobs in noise, for the tests of this folder."""

import numpy as np
from numpy.typing import NDArray

from stages.contract import Case, DataShape
from stages.training.job import Job

NUM_CASES = 5
SHAPE_3D = (16, 16, 16)


def make_cases(shape: tuple[int, ...] = SHAPE_3D, num_cases: int = NUM_CASES) -> tuple[Case, ...]:
    """Cases that `read_blobs` can read."""
    return tuple(
        Case(
            case_id=f"case{i}",
            patient=f"patient{i}",
            split="train",
            images=(str(i),),
            label="",
            shape=shape,
            spacing_mm=(1.0,) * len(shape),
            num_lesions=2,
            num_lesion_voxels=1,
            content_hash="",
        )
        for i in range(num_cases)
    )


def read_blobs(case: Case) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Two bright cubes in noise; zeros at the rim."""
    generator = np.random.default_rng(int(case.images[0]))
    image = generator.normal(1.0, 0.1, case.shape).astype(np.float32)
    label = np.zeros(case.shape, np.int64)
    for corner in generator.integers(2, min(case.shape) - 5, size=(2, len(case.shape))):
        label[tuple(slice(c, c + 3) for c in corner)] = 1
    image += label
    rim = np.zeros_like(image)
    rim[tuple(slice(1, -1) for _ in case.shape)] = 1
    return (image * rim)[None], label


def make_shape(working_shape: tuple[int, ...] = SHAPE_3D, num_classes: int = 2) -> DataShape:
    """The geometry of these cases."""
    return DataShape(
        num_channels=1,
        num_classes=num_classes,
        case_shape=working_shape,
        spacing_mm=(1.0,) * len(working_shape),
        working_shape=working_shape,
        fit="pad",
        base_channels=2,
    )


def make_job(num_steps: int = 6, batch_size: int = 2, micro_batch_size: int = 2) -> Job:
    """A job of seconds."""
    return Job(
        num_steps=num_steps,
        batch_size=batch_size,
        micro_batch_size=micro_batch_size,
        learning_rate=0.003,
        seed=0,
        checkpoint_every_steps=2,
        device="cpu",
    )
