"""Recognise how a folder is laid out, and list its cases without reading an image.

nnU-Net: one file a channel, `imagesTr/<case>_0000.nii.gz`; Medical Segmentation Decathlon: one file a case,
`imagesTr/<case>.nii.gz`, its channels on the last axis. In both, `labelsTr/<case>.nii.gz`, and `imagesTs` with
`labelsTs` is held out.
"""

import json
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from stages.contract import InputError, SourceKind
from stages.imaging.description import DESCRIPTION, Description, read_description
from stages.imaging.facts import StatedSplit
from stages.imaging.reading import FILE_ENDINGS

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


@dataclass(frozen=True)
class Layout:
    """A data set by its files."""

    kind: SourceKind
    source: Path
    description: Description
    entries: tuple[Entry, ...]
    strays: tuple[Path, ...]
    stated_splits: tuple[StatedSplit, ...]


@dataclass
class _Files:
    """Files of one folder by case, before they are paired."""

    channels: dict[str, dict[int, Path]] = field(default_factory=dict)
    whole: dict[str, Path] = field(default_factory=dict)
    strays: list[Path] = field(default_factory=list)


def recognise(source: Path) -> Layout:
    """List the cases of a data folder.

    Raises:
        InputError: the folder is missing, empty, or laid out in none of the known ways.
    """
    _check_folder(source)
    description = read_description(source)
    ending = _choose_ending(source, description)
    images, labels = _list(source / "imagesTr", ending), _list(source / "labelsTr", ending)
    held_out = _list(source / "imagesTs", ending)
    held_out_labels = _list(source / "labelsTs", ending)
    has_channel_files = bool(images.channels) and not _have_labels_of_their_own(images, labels)
    if not has_channel_files:
        _take_as_whole(images)
        _take_as_whole(held_out)
    _take_as_whole(labels)
    _take_as_whole(held_out_labels)
    num_channels = len(description.channel_names) if has_channel_files else None
    entries = [
        *_pair(images, labels, source / "labelsTr", num_channels, ending, False),
        *_pair(held_out, held_out_labels, source / "labelsTs", num_channels, ending, True),
    ]
    entries += _find_unlisted_files(description, entries, ending)
    if not entries:
        raise InputError(
            f"{source}: expected images such as imagesTr/case_0000{ending} with labelsTr/case{ending}, "
            f"found none ending in {ending}"
        )
    strays = [*images.strays, *labels.strays, *held_out.strays, *held_out_labels.strays]
    if has_channel_files:
        strays += [*images.whole.values(), *held_out.whole.values()]
    return Layout(
        kind=SourceKind.nnunet if has_channel_files else SourceKind.decathlon,
        source=source,
        description=description,
        entries=tuple(sorted(entries, key=lambda e: (e.is_held_out, e.case_id))),
        strays=tuple(sorted(strays)),
        stated_splits=_read_stated_splits(source),
    )


def _check_folder(source: Path) -> None:
    looked_for = (
        f"an nnU-Net or Medical Segmentation Decathlon folder with {DESCRIPTION} and imagesTr"
    )
    if not source.exists():
        raise InputError(f"{source}: expected {looked_for}, found no such folder")
    if not source.is_dir():
        raise InputError(f"{source}: expected {looked_for}, found a file")
    if not (source / DESCRIPTION).is_file() or not (source / "imagesTr").is_dir():
        inside = sorted(child.name for child in source.iterdir() if (child / DESCRIPTION).is_file())
        hint = f"; did you mean {source / inside[0]}?" if inside else ""
        found = ", ".join(sorted(child.name for child in source.iterdir())[:8]) or "nothing"
        raise InputError(f"{source}: expected {looked_for}, found {found}{hint}")


def _choose_ending(source: Path, description: Description) -> str:
    """The stated ending, else the one that most files in `imagesTr` have."""
    stated = description.file_ending
    if stated is not None:
        if stated not in FILE_ENDINGS:
            raise InputError(
                f"{source / DESCRIPTION}: file_ending must be one of {', '.join(FILE_ENDINGS)}, got "
                f"{stated!r}; convert the images"
            )
        return stated
    names = [path.name for path in _visible(source / "imagesTr")]
    counts = {e: sum(n.endswith(e) for n in names) for e in FILE_ENDINGS}
    return max(counts, key=lambda e: counts[e])


def _visible(directory: Path) -> list[Path]:
    """Files, but for hidden ones such as the `._` twins of a foreign file system."""
    if not directory.is_dir():
        return []
    return sorted(p for p in directory.iterdir() if not p.name.startswith(".") and p.is_file())


def _list(directory: Path, ending: str) -> _Files:
    files = _Files()
    for path in _visible(directory):
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


def _have_labels_of_their_own(images: _Files, labels: _Files) -> bool:
    """Whether images and labels share whole names, so that `_0001` belongs to a case, not to a channel."""
    files = [path for channels in images.channels.values() for path in channels.values()]
    twins = {path.name for channels in labels.channels.values() for path in channels.values()}
    return any(path.name in twins for path in files)


def _take_as_whole(files: _Files) -> None:
    for channels in files.channels.values():
        for path in channels.values():
            stem = path.name[: path.name.rindex("_") + 5]
            files.whole[unicodedata.normalize("NFC", stem)] = path
    files.channels.clear()


def _pair(
    images: _Files,
    labels: _Files,
    label_folder: Path,
    num_channels: int | None,
    ending: str,
    is_held_out: bool,
) -> Iterable[Entry]:
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


def _find_unlisted_files(
    description: Description, entries: list[Entry], ending: str
) -> list[Entry]:
    """Cases that the list `training` names and no file bears out."""
    known = {entry.case_id for entry in entries}
    missing = []
    for listed in description.listed:
        name = Path(str(listed.get("image", ""))).name
        case_id = unicodedata.normalize("NFC", name.removesuffix(ending))
        if case_id and case_id not in known:
            fault = f"image missing, {DESCRIPTION} lists {listed.get('image')}"
            missing.append(Entry(case_id, (), None, False, fault))
    return missing


def _read_stated_splits(source: Path) -> tuple[StatedSplit, ...]:
    path = source / "splits_final.json"
    if not path.is_file():
        return ()
    try:
        folds = json.loads(path.read_text("utf-8-sig"))
        return tuple(StatedSplit(train=fold["train"], validation=fold["val"]) for fold in folds)
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f'{path}: expected a list such as [{{"train": ["case_001"], "val": ["case_002"]}}]: {error}'
        ) from error
