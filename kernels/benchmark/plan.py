"""How much is measured: sizes, limits and the number of threads."""

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Plan:
    """One run's extent."""

    is_quick: bool
    volume_sides: tuple[int, ...]
    """Cubes of these sides, small to large."""
    image_sides: tuple[int, ...]
    composition_volume_side: int
    """Largest cube on which compositions run; they take seconds on larger ones."""
    composition_image_side: int
    scene_limit_s: float
    """Repeats of a scene end after this, but for the least number."""
    longest_call_s: float
    """What takes longer than this for one call, or is forecast to, is not timed."""
    compile_limit_s: float
    """0: nothing is compiled by `torch.compile`."""
    reference_side: int
    """Of the cube on which memory and the gain of a second thread are measured."""
    thread_counts: tuple[int, ...]

    def wants_memory_of(self, content: str) -> bool:
        """A child for each entrant costs seconds: a quick run has them on one content alone."""
        return content == "smooth" or not self.is_quick


def _thread_counts() -> tuple[int, ...]:
    return (1, 2) if len(os.sched_getaffinity(0)) > 1 else (1,)


QUICK = Plan(
    is_quick=True,
    volume_sides=(64, 128),
    image_sides=(1024,),
    composition_volume_side=64,
    composition_image_side=0,
    scene_limit_s=0.5,
    longest_call_s=2.0,
    compile_limit_s=0,
    reference_side=128,
    thread_counts=_thread_counts(),
)
FULL = Plan(
    is_quick=False,
    volume_sides=(128, 256, 512),
    image_sides=(512, 2048, 8192),
    composition_volume_side=128,
    composition_image_side=512,
    scene_limit_s=6.0,
    longest_call_s=15.0,
    compile_limit_s=90.0,
    reference_side=256,
    thread_counts=_thread_counts(),
)
