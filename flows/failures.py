"""The ways in which a run stops early; each carries one message for a person and no traceback."""

from stages.contract import Stage


class RunStoppedError(Exception):
    """The run cannot go on; the message says where it stopped, what is kept and how to go on."""


class WorkspaceBusyError(RunStoppedError):
    """Another run works in this workspace."""


class ModelRefusedError(RunStoppedError):
    """The packed model does not load or predict in a fresh process."""


class StageFailedError(RunStoppedError):
    """A stage crashed, hung or could not be started."""

    def __init__(self, stage: Stage, message: str) -> None:
        super().__init__(stage, message)
        self.stage, self.message = stage, message

    def __str__(self) -> str:
        return self.message


class InputRefusedError(StageFailedError):
    """A stage found its input at fault."""


class DataRefusedError(InputRefusedError):
    """The data did not pass validation."""
