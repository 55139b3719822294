"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer


def named_path(text: str) -> Path:
    """A path; an empty text would mean the current folder."""
    if not text.strip():
        raise typer.BadParameter("expected a path, got an empty text")
    return Path(text)


Workspace = Annotated[
    Path | None,
    typer.Option(
        "--workspace",
        help="Folder to work in, made on first use; default: the clone.",
        parser=named_path,
        metavar="DIR",
    ),
]
Data = Annotated[
    Path | None,
    typer.Option(
        help="nnU-Net or Medical Segmentation Decathlon folder; written into params.yaml.",
        parser=named_path,
        metavar="DIR",
    ),
]
Operator = Annotated[
    str | None,
    typer.Option(
        help="Bundled operator by name, or a folder's path; written into params.yaml.",
        metavar="NAME|PATH",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("-S", metavar="SECTION.KEY=VALUE", help="Written into params.yaml; repeatable."),
]
