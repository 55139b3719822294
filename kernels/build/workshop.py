"""Make one file from its content, once, whoever asks for it at the same time."""

import shlex
import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kernels.build.commands import Command, Outcome, run_together
from kernels.build.failure import BuildFailed
from kernels.build.lock import building
from kernels.build.messages import count_warnings, find_errors, quote
from kernels.build.store import Record, clear_scratch, find_built, make_scratch, publish

NUM_LAST_LINES = 5


@dataclass(frozen=True)
class Target:
    """What is to be made."""

    title: str
    """Names it in messages."""
    file: Path
    key: Callable[[], str]
    """The key of the content as it is now; a source may change while it is compiled."""


@dataclass
class Workshop:
    """A folder of one's own for one build, and a record of what was said in it."""

    target: Target
    scratch: Path
    deadline: float
    """By `time.monotonic()`."""
    outcomes: list[Outcome] = field(default_factory=list)

    def run(self, commands: Sequence[Command]) -> None:
        """Run commands side by side.

        Raises:
            BuildFailed: some failed; the message quotes what all of them said.
            TimeoutError: the deadline passed.
        """
        outcomes = run_together(commands, self.deadline)
        self.outcomes.extend(outcomes)
        failed = [outcome for outcome in outcomes if outcome.status != 0]
        if failed:
            raise self._failure(failed)

    @property
    def num_warnings(self) -> int:
        """How many warnings the operator's own sources gave so far."""
        return count_warnings(outcome.output for outcome in self.outcomes)

    @property
    def log(self) -> Path:
        """Where the log of a failed build lies."""
        return self.target.file.with_suffix(".log")

    def write_log(self, commands: Iterable[Command] = ()) -> None:
        """Keep the commands and all that they said, for whoever looks into a failure."""
        said = [f"$ {shlex.join(o.command)}\n{o.output}status {o.status}\n" for o in self.outcomes]
        self.log.write_text(
            "\n".join([*said, *(f"$ {shlex.join(c)}\n" for c in commands)]), "utf-8"
        )

    def _failure(self, failed: Sequence[Outcome]) -> BuildFailed:
        self.write_log()
        errors = find_errors("\n".join(outcome.output for outcome in failed))
        title, log = self.target.title, f"log: {self.log}"
        if errors:
            number = f"{len(errors)} errors" if len(errors) > 1 else "1 error"
            return BuildFailed(f"{title}: {number}: {quote(errors)}\n{log}", errors, self.log)
        first = failed[0]
        end = f"{Path(first.command[0]).name} ended with status {first.status}"
        last = "\n".join(first.output.strip().splitlines()[-NUM_LAST_LINES:]) or "it said nothing"
        return BuildFailed(f"{title}: {end}:\n{last}\n{log}", (end,), self.log)


def make_once(
    target: Target, time_limit_s: float, make: Callable[[Workshop], Path]
) -> tuple[Record, bool]:
    """The file's record, and whether it was there before; made under a lock if it was not.

    Args:
        target: what is to be made.
        time_limit_s: for the wait for another process and for the commands together.
        make: makes the file within the workshop's folder and says where.

    Raises:
        BuildFailed: a command failed, the time was up, or a source changed on the way.
    """
    deadline = time.monotonic() + time_limit_s
    key = target.key()
    found = find_built(target.file, key)
    if found is not None:
        return found, True
    with building(target.file, deadline) as is_held_alone:
        found = find_built(target.file, key)
        if found is not None:  # by the process that was waited for
            return found, True
        if is_held_alone:
            clear_scratch(target.file)
        workshop = Workshop(target, make_scratch(target.file), deadline)
        try:
            return _make(workshop, key, make, time_limit_s), False
        finally:
            shutil.rmtree(workshop.scratch, ignore_errors=True)


def _make(
    workshop: Workshop, key: str, make: Callable[[Workshop], Path], time_limit_s: float
) -> Record:
    started = time.perf_counter()
    target = workshop.target
    try:
        made = make(workshop)
    except TimeoutError:
        workshop.write_log()
        raise BuildFailed(
            f"{target.title}: the build took longer than {time_limit_s:g} s and was stopped",
            log=workshop.log,
        ) from None
    if target.key() != key:
        raise BuildFailed(f"{target.title}: a source changed while it was compiled; build again")
    seconds = time.perf_counter() - started
    record = publish(made, target.file, key, workshop.num_warnings, seconds)
    workshop.log.unlink(missing_ok=True)
    return record
