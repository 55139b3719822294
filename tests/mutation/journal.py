"""What was judged before, so that a run that was killed goes on, and a changed one starts anew."""

import hashlib
import json
from dataclasses import asdict
from functools import cache
from pathlib import Path

from judging import Job, Outcome
from subject import SUBJECTS

import stages.numerics


class Journal:
    """One JSON line an outcome, kept with the content of all that it depends on."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._known: dict[str, Outcome] = {}
        if path is not None and path.is_file():
            for line in path.read_text(encoding="utf-8").splitlines():
                if line.endswith("}"):  # the last one may have been cut
                    entry = json.loads(line)
                    self._known[entry.pop("key")] = Outcome(**entry)

    def find(self, job: Job) -> Outcome | None:
        """The outcome of the same job on the same sources and the same battery."""
        return self._known.get(_key(job))

    def add(self, job: Job, outcome: Outcome) -> None:
        """Keep it."""
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"key": _key(job), **asdict(outcome)}) + "\n")


def _key(job: Job) -> str:
    words = repr((job, _content(job.operator)))
    return hashlib.sha256(words.encode()).hexdigest()[:16]


@cache
def _content(operator: str) -> str:
    """Digest of the battery's sources and the operator's."""
    battery = Path(stages.numerics.__path__[0])
    files = sorted(battery.rglob("*.py"))
    for path in SUBJECTS[operator].sources:
        inside = sorted(path.rglob("*")) if path.is_dir() else [path]
        files += [one for one in inside if one.is_file() and one.suffix != ".pyc"]
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.name}\0".encode() + file.read_bytes())
    return digest.hexdigest()
