"""The files of a folder by case, and how images and labels pair up."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

_CHANNEL = re.compile(r"(.+)_(\d{4})")


@dataclass(frozen=True)
class Entry:
    """One case by its files."""

    case_id: str
    images: tuple[Path, ...]
    label: Path | None
    is_held_out: bool
    """From `imagesTs`."""
    fault: str | None = None
    """What is missing."""


@dataclass
class CaseFiles:
    """Files of one folder by case, before they are paired."""

    channels: dict[str, dict[int, Path]] = field(default_factory=dict)
    """Path by case and number of the channel, for names that end in `_0000`."""
    whole: dict[str, Path] = field(default_factory=dict)
    """Path by case, for all other names."""
    strays: list[Path] = field(default_factory=list)
    """Files of another ending."""


def visible_files(directory: Path) -> list[Path]:
    """Files, but for hidden ones such as the `._` twins of a foreign file system."""
    if not directory.is_dir():
        return []
    return sorted(p for p in directory.iterdir() if not p.name.startswith(".") and p.is_file())


def list_files(directory: Path, ending: str) -> CaseFiles:
    """Sort a folder's files by case; a folder that is missing has none."""
    files = CaseFiles()
    for path in visible_files(directory):
        if not path.name.endswith(ending):
            files.strays.append(path)
            continue
        # One file system composes accents, another does not: both spell the same case.
        stem = unicodedata.normalize("NFC", path.name.removesuffix(ending))
        match = _CHANNEL.fullmatch(stem)
        if match:
            files.channels.setdefault(match[1], {})[int(match[2])] = path
        else:
            files.whole[stem] = path
    return files


def have_labels_of_their_own(images: CaseFiles, labels: CaseFiles) -> bool:
    """Whether images and labels share whole names, so that `_0001` is part of a case's name."""
    files = [path for channels in images.channels.values() for path in channels.values()]
    twins = {path.name for channels in labels.channels.values() for path in channels.values()}
    return any(path.name in twins for path in files)


def take_as_whole(files: CaseFiles) -> None:
    """Take `_0000` for a part of the cases' names, in place."""
    for channels in files.channels.values():
        for path in channels.values():
            stem = path.name[: path.name.rindex("_") + 5]
            files.whole[unicodedata.normalize("NFC", stem)] = path
    files.channels.clear()


def pair_files(
    images: CaseFiles,
    labels: CaseFiles,
    label_folder: Path,
    num_channels: int | None,
    ending: str,
    is_held_out: bool,
) -> Iterable[Entry]:
    """Every case with an image or a label; `num_channels` is None for one file a case."""
    found: dict[str, dict[int, Path]] = (
        images.channels
        if num_channels is not None
        else {c: {0: p} for c, p in images.whole.items()}
    )
    for case_id, channels in found.items():
        label = labels.whole.get(case_id)
        faults = []
        if num_channels is not None:
            missing = [n for n in range(num_channels) if n not in channels]
            extra = [n for n in channels if n >= num_channels]
            faults += [f"channel {n} missing, expected {case_id}_{n:04d}{ending}" for n in missing]
            faults += [f"channel {n} not declared: {channels[n].name}" for n in extra]
        if label is None and (not is_held_out or labels.whole):
            faults.append(f"label missing, expected {label_folder / (case_id + ending)}")
        yield Entry(
            case_id,
            tuple(channels[n] for n in sorted(channels)),
            label,
            is_held_out,
            "; ".join(faults) or None,
        )
    for case_id, path in labels.whole.items():
        if case_id not in found:
            yield Entry(case_id, (), path, is_held_out, f"image missing for the label {path.name}")
