"""The base of everything that crosses a stage's boundary."""

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """Immutable, without unknown keys, without NaN or infinity."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
