"""Exact Euclidean distance transform; the public function is imported when it is asked for."""

from typing import Any

__all__ = ["distance_transform"]


def __getattr__(name: str) -> Any:
    # Reading spec.py must neither build nor load the library, as importing op.py does.
    if name == "distance_transform":
        from kernels.distance_transform.op import distance_transform

        return distance_transform
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
