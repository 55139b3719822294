"""A loss in which every lesion counts the same, whatever its size.

The public function is imported on first use: reading `spec.py` neither builds nor loads anything.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernels.lesion_loss.op import lesion_loss

__all__ = ["lesion_loss"]


def __getattr__(name: str) -> Any:
    if name == "lesion_loss":
        from kernels.lesion_loss.op import lesion_loss

        return lesion_loss
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
