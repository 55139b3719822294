"""Label the connected components of a mask: one integer per lesion.

The public function is imported on first use: reading `spec.py` neither builds nor loads anything.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernels.connected_components.op import connected_components

__all__ = ["connected_components"]


def __getattr__(name: str) -> Any:
    if name == "connected_components":
        from kernels.connected_components.op import connected_components

        return connected_components
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
