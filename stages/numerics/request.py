"""What is to be examined, as it passes from the supervising process to the one that works."""

import json
from dataclasses import asdict, dataclass
from typing import Literal, Self

Extent = Literal["quick", "full"]


@dataclass(frozen=True)
class Request:
    """An operator's folder, and how far the examination goes."""

    folder: str
    library: str | None
    """The built library, to be loaded first; None for an operator without one."""
    device: str
    extent: Extent
    """Quick leaves out the slow checks."""
    check_limit_s: float
    job_shape: tuple[int, ...] | None = None
    """Shape of the first argument in the real job, where it is known."""
    seed: int = 0

    def to_json(self) -> str:
        """One line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The same again."""
        fields = json.loads(text)
        shape = fields.pop("job_shape")
        return cls(**fields, job_shape=None if shape is None else tuple(shape))
