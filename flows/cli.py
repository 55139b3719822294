"""The command line. Heavy imports wait inside the commands.

Exit status, the same for every command:
    0    done
    1    stopped: a stage failed, the data was refused, another run holds the workspace, or a store
         belongs to another version
    2    not begun, nothing made or written: an option, a folder that it names, or `params.yaml` is
         at fault, or there is nothing yet to show or to collect
    130  interrupted; `ui` and `schedule`, which have no other end, then exit with 0
"""

import os
import signal
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from flows.failures import RunStoppedError
from flows.quiet import hush
from stages.contract import InputError

INPUT_STATUS = 2
STOPPED_STATUS = 1
INTERRUPTED_STATUS = 130

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Do a custom operator and distributed training pay off? Measured, then carried out.",
)


def _named_path(text: str) -> Path:
    """A path; an empty text would mean the current folder."""
    if not text.strip():
        raise typer.BadParameter("expected a path, got an empty text")
    return Path(text)


_Workspace = Annotated[
    Path | None,
    typer.Option(
        "--workspace",
        help="Folder to work in, made on first use; default: the clone.",
        parser=_named_path,
        metavar="DIR",
    ),
]
_Data = Annotated[
    Path | None,
    typer.Option(
        help="nnU-Net or Medical Segmentation Decathlon folder; written into params.yaml.",
        parser=_named_path,
        metavar="DIR",
    ),
]
_Operator = Annotated[
    str | None,
    typer.Option(
        help="Bundled operator by name, or a folder's path; written into params.yaml.",
        metavar="NAME|PATH",
    ),
]
_Settings = Annotated[
    list[str] | None,
    typer.Option("-S", metavar="SECTION.KEY=VALUE", help="Written into params.yaml; repeatable."),
]


@app.command()
def run(
    data: _Data = None,
    operator: _Operator = None,
    workspace: _Workspace = None,
    settings: _Settings = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Execute every stage anew.")] = False,
) -> None:
    """Take the data through the decision graph, to a record and a registered model."""
    place, console = _enter(workspace), Console()
    _check(place, settings or [], data, operator)
    from flows.lock import workspace_lock

    with workspace_lock(place):
        _ready(place, console, settings or [], data, operator)
        os.chdir(place)
        from flows.decide import decide

        decide(workspace=str(place), fresh=fresh)
        from flows.report_screen import show_report

        show_report(console)


@app.command()
def report(workspace: _Workspace = None) -> None:
    """Show the last decision: verdict, reason, figures, and where record and model are."""
    from flows.report_screen import show_report

    place = _enter(workspace)
    _expect_folder(place)
    os.chdir(place)
    show_report(Console())


@app.command("check-data")
def check_data(
    folder: Annotated[
        Path, typer.Argument(help="Folder of a data set.", parser=_named_path, metavar="DIR")
    ],
) -> None:
    """Judge a folder and do nothing else: exit 0 accepted, 1 refused."""
    from stages.imaging.judge_folder import main as judge

    raise typer.Exit(judge([str(folder)]))


@app.command()
def collect(workspace: _Workspace = None) -> None:
    """Keep the results of a bare `dvc repro` in MLflow, and register its model; each once."""
    place = _enter(workspace)
    _expect_folder(place)
    os.chdir(place)
    from flows.lock import workspace_lock
    from flows.present import collect_present
    from flows.tracking import open_store

    console = Console()
    with workspace_lock(place):
        store = open_store(place)
        if store.news is not None:
            console.print(store.news, soft_wrap=True, highlight=False)
        collected = collect_present(store)
    how = "kept now" if collected.is_new else "kept before, nothing to do"
    console.print(f"run      {collected.run_id}: {how}", soft_wrap=True, highlight=False)
    if collected.model is not None:
        console.print(
            f"model    {collected.model.name} version {collected.model.version}", highlight=False
        )


@app.command()
def schedule(
    cron: Annotated[str, typer.Option(help="Five fields, such as '0 2 * * 1-5'.")],
    timezone: Annotated[str, typer.Option(help="IANA name, such as Europe/Zurich.")] = "UTC",
    workspace: _Workspace = None,
    data: _Data = None,
    operator: _Operator = None,
    settings: _Settings = None,
) -> None:
    """Run by a cron line, until Ctrl-C; a run that falls due during another is cancelled."""
    place, console = _enter(workspace), Console()
    _check(place, settings or [], data, operator)
    from flows.lock import workspace_lock

    with warnings.catch_warnings():  # Prefect's home is in the workspace, which may be yet to come
        warnings.filterwarnings("ignore", "Failed to create the Prefect home")
        from flows.schedule import check_schedule, serve_schedule

    check_schedule(cron, timezone)
    with workspace_lock(place):
        _ready(place, console, settings or [], data, operator)
    os.chdir(place)
    serve_schedule(place, cron, timezone, console)


@app.command()
def ui(workspace: _Workspace = None) -> None:
    """Serve the pages of MLflow and Prefect on loopback, until Ctrl-C."""
    place = _enter(workspace)
    _expect_folder(place)
    from flows.ui import serve_pages

    serve_pages(place, Console())


def main() -> None:
    """Entry point: one clear message and an exit status for whatever a person can act on."""
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        app()
    except InputError as error:
        _say(error)
        sys.exit(INPUT_STATUS)
    except RunStoppedError as error:
        _say(error)
        sys.exit(STOPPED_STATUS)
    except SystemExit as end:  # Typer makes one of an interrupt
        if end.code == INTERRUPTED_STATUS:
            _say("interrupted; what was finished is kept, `breakeven run` goes on from there")
        raise


def _enter(workspace: Path | None) -> Path:
    from flows.workspace import find_workspace

    place = find_workspace(workspace)
    hush(place)
    return place


def _check(place: Path, settings: list[str], data: Path | None, operator: str | None) -> None:
    """Refuse what is at fault before anything is made or written."""
    from flows.params_file import plan_changes
    from flows.workspace import check_place

    check_place(place)
    plan_changes(place, settings, data, operator)


def _ready(
    place: Path, console: Console, settings: list[str], data: Path | None, operator: str | None
) -> None:
    """Make the workspace where there is none, and write and say the changes of its parameters."""
    from flows.params_file import change_parameters
    from flows.workspace import create_if_absent

    if create_if_absent(place):
        console.print(f"workspace made in {place}", soft_wrap=True, highlight=False)
    for line in change_parameters(place, settings, data, operator):
        console.print(Text(line), soft_wrap=True)


def _expect_folder(place: Path) -> None:
    from flows.workspace import is_workspace

    if not is_workspace(place):
        raise InputError(
            f"--workspace: expected a workspace, found none at {place}: `breakeven run` makes it"
        )


def _interrupt(number: int, frame: Any) -> None:
    raise KeyboardInterrupt


def _say(problem: object) -> None:
    Console(stderr=True).print(Text(str(problem), "bold red"), soft_wrap=True)


if __name__ == "__main__":
    main()
