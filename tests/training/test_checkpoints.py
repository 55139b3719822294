"""Checkpoints on disk."""

from pathlib import Path

import pytest
import torch

from stages.training.checkpoints import load_newest, save


def test_the_last_two_are_kept(tmp_path: Path) -> None:
    """Older ones are removed, and the newest is read."""
    for step in (1, 2, 10):
        save(tmp_path, step, {"step": step, "weights": torch.full((3,), step)})
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "step-00000002.pt",
        "step-00000010.pt",
    ]
    state = load_newest(tmp_path)
    assert state is not None
    assert state["step"] == 10


@pytest.mark.parametrize("damage", ["a changed byte", "a missing end", "nothing left"])
def test_a_damaged_newest_is_told_and_passed_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: str
) -> None:
    """The one before it is read instead."""
    save(tmp_path, 1, {"step": 1})
    newest = save(tmp_path, 2, {"step": 2})
    content = bytearray(newest.read_bytes())
    if damage == "a changed byte":
        content[len(content) // 2] ^= 1
    newest.write_bytes({"a missing end": content[:-5], "nothing left": b""}.get(damage, content))
    state = load_newest(tmp_path)
    assert state is not None
    assert state["step"] == 1
    assert "step-00000002.pt: damaged" in capsys.readouterr().err


def test_an_unfinished_file_is_not_read(tmp_path: Path) -> None:
    """What a killed process left half-written is no checkpoint."""
    (tmp_path / ".unfinished-abc").write_bytes(b"half")
    assert load_newest(tmp_path) is None
