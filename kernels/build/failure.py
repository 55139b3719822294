"""What a build raises when no library comes out of it."""

from pathlib import Path


class BuildFailed(RuntimeError):  # noqa: N818 - it reads as what happened
    """No library came out; the first line of the message says why, the next ones quote errors."""

    def __init__(self, message: str, errors: tuple[str, ...] = (), log: Path | None = None) -> None:
        super().__init__(message)
        self.errors = errors
        """What compiler and linker said, each with file and line where it has one."""
        self.log = log
        """The commands and all that they said; None when it did not come to a command."""
