"""A key for all that a run's weights depend on: it names the folder of its checkpoints."""

import hashlib
import json
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

_LENGTH = 16


def fingerprint(*parts: Any) -> str:
    """Hex key of plain values, dataclasses and contract models; equal parts give equal keys."""
    text = json.dumps(parts, sort_keys=True, default=_as_plain)
    return hashlib.sha256(text.encode()).hexdigest()[:_LENGTH]


def digest_files(path: Path) -> str:
    """SHA-256 over names and contents of a file, or of all files of a folder but byte code."""
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
    digest = hashlib.sha256()
    for file in files:
        if file.suffix != ".pyc":
            name = file.relative_to(path).as_posix()
            digest.update(f"{name}\0{file.stat().st_size}\0".encode() + file.read_bytes())
    return digest.hexdigest()


def _as_plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return value.model_dump(mode="json")
