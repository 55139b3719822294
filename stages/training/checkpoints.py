"""Checkpoints that survive a kill at any moment, and say so when they are damaged.

A file holds the SHA-256 of its content, then the content: torch's own format notices a missing end,
but not a changed byte.
"""

import hashlib
import io
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

NUM_KEPT = 2
_NAME = re.compile(r"step-(\d+)\.pt")
_DIGEST_LENGTH = 64


def save(folder: Path, step: int, state: Mapping[str, Any]) -> Path:
    """Keep the state after `step` steps, whole or not at all; all but the last two are removed."""
    folder.mkdir(parents=True, exist_ok=True)
    content = io.BytesIO()
    torch.save(dict(state), content)
    payload = content.getvalue()
    target = folder / f"step-{step:08d}.pt"
    handle, name = tempfile.mkstemp(dir=folder, prefix=".unfinished-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(payload).hexdigest().encode())
            file.write(payload)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    for old in list(_newest_first(folder))[NUM_KEPT:]:
        old.unlink(missing_ok=True)
    return target


def load_newest(folder: Path) -> dict[str, Any] | None:
    """The state of the newest good checkpoint; None when there is none.

    A damaged one is named on standard error, and the one before it is taken.
    """
    for path in _newest_first(folder):
        payload = path.read_bytes()
        digest, content = payload[:_DIGEST_LENGTH], payload[_DIGEST_LENGTH:]
        if hashlib.sha256(content).hexdigest().encode() == digest:
            state: dict[str, Any] = torch.load(
                io.BytesIO(content), map_location="cpu", weights_only=True
            )
            return state
        print(
            f"{path}: damaged (expected SHA-256 {digest[:16]!r}..., the content has another); "
            f"the checkpoint before it is taken",
            file=sys.stderr,
            flush=True,
        )
    return None


def _newest_first(folder: Path) -> Iterator[Path]:
    found = [path for path in folder.glob("step-*.pt") if _NAME.fullmatch(path.name)]
    return iter(sorted(found, key=lambda path: path.name, reverse=True))
