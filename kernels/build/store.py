"""Where built files lie: each under its content's key, beside a record that proves it whole.

A file comes into place by a rename, and its record after it. A process that was killed in between,
a full disk or an edit leaves a file that its record does not fit: it counts as absent, and is built
again.
"""

import hashlib
import json
import os
import shutil
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from kernels.build.failure import BuildFailed


@dataclass(frozen=True)
class Record:
    """What is known about a built file."""

    key: str
    """SHA-256 of all that it was made from, in hex."""
    sha256: str
    """Of the file itself, in hex."""
    num_warnings: int
    compile_s: float


def find_built(file: Path, key: str) -> Record | None:
    """The record of a built file that is whole and was made from this content; None without."""
    try:
        record = Record(**json.loads(_record_of(file).read_text("utf-8")))
        is_whole = record.key == key and record.sha256 == digest_of(file)
    except (OSError, ValueError, TypeError):  # absent, no JSON, not these fields
        return None
    return record if is_whole else None


def publish(made: Path, file: Path, key: str, num_warnings: int, compile_s: float) -> Record:
    """Move a made file into place, under the same file system, and record what it is."""
    record = Record(key, digest_of(made), num_warnings, compile_s)
    note = made.with_name(f"{made.name}.json")
    note.write_text(json.dumps(asdict(record), indent=2) + "\n", "utf-8")
    made.replace(file)
    note.replace(_record_of(file))
    return record


def digest_of(file: Path) -> str:
    """SHA-256 of a file's bytes, in hex."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def make_scratch(file: Path) -> Path:
    """A fresh folder beside a file that is to be built; `clear_scratch` knows it by its name."""
    return Path(tempfile.mkdtemp(prefix=f".{file.name}.", dir=file.parent))


def clear_scratch(file: Path) -> None:
    """Remove what builds of this file left, killed ones included; its lock must be held."""
    for left in file.parent.glob(f".{file.name}.*"):
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)


def settle_directory(directory: Path | None) -> Path:
    """The folder of built files, made if need be.

    Without a `directory`: `$BREAKEVEN_BUILD_DIR`, else `breakeven/operators` in the cache, else a
    folder of this user's among the temporary files.

    Raises:
        BuildFailed: it cannot be made or written to.
    """
    if directory is not None:
        return _writable(directory)
    chosen = os.environ.get("BREAKEVEN_BUILD_DIR")
    if chosen:
        return _writable(Path(chosen))
    try:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        return _writable(cache / "breakeven" / "operators")
    except (BuildFailed, RuntimeError):  # RuntimeError: the user has no home
        return _writable(Path(tempfile.gettempdir()) / f"breakeven-operators-{os.getuid()}")


def _writable(directory: Path) -> Path:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BuildFailed(
            f"{directory}: cannot be created for built operators: {error.strerror}"
        ) from error
    if not os.access(directory, os.W_OK):
        raise BuildFailed(
            f"{directory}: not writable; name another folder for built operators "
            "in $BREAKEVEN_BUILD_DIR"
        )
    return directory.resolve()


def _record_of(file: Path) -> Path:
    return file.with_name(f"{file.name}.json")
