"""Do not begin what would take too long: a guess from the same work on a smaller input."""

from kernels.benchmark.scene import Entrant, Scene


class Forecast:
    """What each entrant took a voxel, by what was asked of it."""

    def __init__(self) -> None:
        self._s_per_voxel: dict[tuple[str, str, int, str], float] = {}

    def note(self, scene: Scene, entrant: Entrant, seconds: float) -> None:
        """Remember a call; a later one replaces it."""
        self._s_per_voxel[self._key(scene, entrant)] = seconds / scene.num_voxels

    def seconds(self, scene: Scene, entrant: Entrant) -> float | None:
        """Guess for one call; None when it has not been seen on such an input."""
        known = self._s_per_voxel.get(self._key(scene, entrant))
        return None if known is None else known * scene.num_voxels

    def _key(self, scene: Scene, entrant: Entrant) -> tuple[str, str, int, str]:
        return scene.variant, scene.content, len(scene.shape), entrant.key
