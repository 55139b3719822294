"""Label the connected components of a mask: one integer per lesion; count or measure them.

The public functions are imported on first use: reading `spec.py` neither builds nor loads anything.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernels.connected_components.measuring import ComponentTable, component_table
    from kernels.connected_components.op import component_count, connected_components

__all__ = ["ComponentTable", "component_count", "component_table", "connected_components"]


def __getattr__(name: str) -> Any:
    if name in ("component_count", "connected_components"):
        from kernels.connected_components import op

        return getattr(op, name)
    if name in ("ComponentTable", "component_table"):
        from kernels.connected_components import measuring

        return getattr(measuring, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
