"""Recognise how a folder is laid out, and list its cases without reading an image.

nnU-Net: one file a channel, `imagesTr/<case>_0000.nii.gz`; Medical Segmentation Decathlon: one file
a case, `imagesTr/<case>.nii.gz`, its channels on the last axis. In both, `labelsTr/<case>.nii.gz`,
and `imagesTs` with `labelsTs` is held out.
"""

import json
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from stages.contract import InputError, SourceKind
from stages.imaging.case_files import (
    Entry,
    have_labels_of_their_own,
    list_files,
    pair_files,
    take_as_whole,
    visible_files,
)
from stages.imaging.description import DESCRIPTION, Description, read_description
from stages.imaging.facts import StatedSplit
from stages.imaging.reading import FILE_ENDINGS


@dataclass(frozen=True)
class Layout:
    """A data set by its files."""

    kind: SourceKind
    source: Path
    description: Description
    entries: tuple[Entry, ...]
    strays: tuple[Path, ...]
    stated_splits: tuple[StatedSplit, ...]


def recognise(source: Path) -> Layout:
    """List the cases of a data folder.

    Raises:
        InputError: the folder is missing, empty, or laid out in none of the known ways.
    """
    _check_folder(source)
    description = read_description(source)
    ending = _choose_ending(source, description)
    images = list_files(source / "imagesTr", ending)
    labels = list_files(source / "labelsTr", ending)
    held_out = list_files(source / "imagesTs", ending)
    held_out_labels = list_files(source / "labelsTs", ending)
    has_channel_files = bool(images.channels) and not have_labels_of_their_own(images, labels)
    if not has_channel_files:
        take_as_whole(images)
        take_as_whole(held_out)
    take_as_whole(labels)
    take_as_whole(held_out_labels)
    num_channels = len(description.channel_names) if has_channel_files else None
    entries = [
        *pair_files(images, labels, source / "labelsTr", num_channels, ending, False),
        *pair_files(held_out, held_out_labels, source / "labelsTs", num_channels, ending, True),
    ]
    entries += _find_unlisted_files(description, entries, ending)
    if not entries:
        raise InputError(
            f"{source}: expected images such as imagesTr/case_0000{ending} with "
            f"labelsTr/case{ending}, found none ending in {ending}"
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
                f"{source / DESCRIPTION}: file_ending must be one of {', '.join(FILE_ENDINGS)}, "
                f"got {stated!r}; convert the images"
            )
        return stated
    names = [path.name for path in visible_files(source / "imagesTr")]
    counts = {e: sum(n.endswith(e) for n in names) for e in FILE_ENDINGS}
    return max(counts, key=lambda e: counts[e])


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
            f'{path}: expected a list such as [{{"train": ["case_001"], "val": ["case_002"]}}]: '
            f"{error}"
        ) from error
