"""From how a stage's process ended to one message: what happened, what is kept, how to go on."""

import re
import signal
from collections.abc import Sequence

from flows.child import Ended
from flows.failures import DataRefusedError, InputRefusedError, StageFailedError
from stages.contract import SCRATCH, Stage
from stages.contract.execute import INPUT_ERROR_STATUS

_EXITED = re.compile(r"exited with (-?\d+)")
_REPRODUCING = re.compile(r"(?:Running stage|failed to reproduce) '([^']+)'")
_DVC_SAYS = "ERROR: "


def explain(stages: Sequence[Stage], ended: Ended, time_limit_s: float) -> StageFailedError:
    """The failure that a bad end of `dvc repro` on these stages amounts to."""
    stage = _failed_stage(stages, ended)
    if ended.timed_out:
        return StageFailedError(
            stage,
            f"{stage}: did not end within infrastructure.stage_time_limit_s = {time_limit_s:g} s; "
            f"it and its children were ended. {_go_on(stage)}, with "
            f"-S infrastructure.stage_time_limit_s=... if it needs longer",
        )
    status = _stage_status(ended)
    if status is None:
        said = [line for line in ended.lines if line.startswith(_DVC_SAYS)] or ended.lines[-3:]
        return StageFailedError(
            stage, f"{stage}: DVC could not run it: {' '.join(said)}. {_go_on(stage)}"
        )
    if status == INPUT_ERROR_STATUS:
        kind = DataRefusedError if stage is Stage.validate_data else InputRefusedError
        return kind(stage, _own_words(stage, ended))
    number = -status if status < 0 else status - 128
    if number in _SIGNALS:
        return StageFailedError(
            stage,
            f"{stage}: its process was ended by {_SIGNALS[number]} (exit {status}): a fault in "
            f"native code, or a machine out of memory. {_go_on(stage)}",
        )
    return StageFailedError(
        stage,
        f"{stage}: failed with exit status {status}: {_last_words(ended)}. {_go_on(stage)}",
    )


_SIGNALS = {
    number.value: number.name
    for number in signal.valid_signals()
    if isinstance(number, signal.Signals)
}


def _failed_stage(stages: Sequence[Stage], ended: Ended) -> Stage:
    """The stage that DVC named last; the first where it named none."""
    for line in reversed(ended.lines):
        match = _REPRODUCING.search(line)
        if match and match.group(1) in stages:
            return Stage(match.group(1))
    return stages[0]


def _go_on(stage: Stage) -> str:
    return (
        f"Kept: the results of all stages before it, and checkpoints under {SCRATCH}; "
        f"`breakeven run` goes on at {stage}"
    )


def _stage_status(ended: Ended) -> int | None:
    """What the stage's own process returned, in DVC's words; None where it never ran."""
    for line in reversed(ended.lines):
        match = _EXITED.search(line)
        if match:
            return int(match.group(1))
    return None


def _own_words(stage: Stage, ended: Ended) -> str:
    """The message of the stage's InputError, which may have several lines."""
    starts = [n for n, line in enumerate(ended.lines) if line.startswith(f"{stage}: ")]
    kept = []
    for line in ended.lines[starts[-1] if starts else 0 :]:
        if line.startswith(_DVC_SAYS):
            break
        kept.append(line)
    return "\n".join(kept)


def _last_words(ended: Ended) -> str:
    """The last line before DVC's own: of a traceback, the error itself."""
    said = [line for line in ended.lines if not line.startswith(_DVC_SAYS)]
    return said[-1] if said else "it said nothing"
