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
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from flows.failures import RunStoppedError
from flows.options import Data, Operator, Settings, Workspace, named_path
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


@app.command()
def run(
    data: Data = None,
    operator: Operator = None,
    workspace: Workspace = None,
    settings: Settings = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Execute every stage anew.")] = False,
) -> None:
    """Take the data through the decision graph, to a record and a registered model."""
    place, console = _enter(workspace), Console()
    _check(place, settings or [], data, operator)
    from flows.lock import workspace_lock

    with workspace_lock(place):
        _ready(place, console, settings or [], data, operator)
        os.chdir(place)
        from flows.prefect_api import prefect_api
        from flows.report_screen import show_report

        with prefect_api(place) as api:
            _decide(place, fresh, api, console)

        show_report(console)


@app.command()
def report(workspace: Workspace = None) -> None:
    """Show the last decision: verdict, reason, figures, and where record and model are."""
    from flows.report_screen import show_report

    place = _enter(workspace)
    _expect_folder(place)
    os.chdir(place)
    show_report(Console())


@app.command("check-data")
def check_data(
    folder: Annotated[
        Path, typer.Argument(help="Folder of a data set.", parser=named_path, metavar="DIR")
    ],
) -> None:
    """Judge a folder and do nothing else: exit 0 accepted, 1 refused."""
    from stages.imaging.judge_folder import main as judge

    raise typer.Exit(judge([str(folder)]))


@app.command("check-operator")
def check_operator(
    folder: Annotated[
        str, typer.Argument(help="Bundled operator by name, or a folder.", metavar="FOLDER")
    ],
    quick: Annotated[bool, typer.Option("--quick", help="Leave out the slow checks.")] = False,
) -> None:
    """Hold an operator to its own reference in every way we know: exit 0 accepted, 1 rejected."""
    from stages.numerics.check_folder import main as check

    raise typer.Exit(check([folder, *(["--quick"] if quick else [])]))


@app.command()
def collect(workspace: Workspace = None) -> None:
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
    workspace: Workspace = None,
    data: Data = None,
    operator: Operator = None,
    settings: Settings = None,
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
def ui(workspace: Workspace = None) -> None:
    """Serve the pages of MLflow and Prefect on loopback, until Ctrl-C."""
    place = _enter(workspace)
    _expect_folder(place)
    from flows.ui import serve_pages

    serve_pages(place, Console())


def main() -> None:
    """Entry point: one clear message and an exit status for whatever a person can act on."""
    signal.signal(signal.SIGTERM, _interrupt)
    status = _obey()
    from flows.prefect_api import end_process

    end_process(status)


def _obey() -> int:
    try:
        app()
    except InputError as error:
        _say(error)
        return INPUT_STATUS
    except RunStoppedError as error:
        _say(error)
        return STOPPED_STATUS
    except SystemExit as end:
        if end.code == INTERRUPTED_STATUS:  # typer has caught the interrupt
            _say("interrupted; what was finished is kept, `breakeven run` goes on from there")
        return end.code if isinstance(end.code, int) else 0
    return 0


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


def _decide(place: Path, fresh: bool, api: str, console: Console) -> None:
    """A run that has come to its end stands, even if Prefect could not be told."""
    import httpx

    from flows.decide import decide
    from flows.last_run import find_last_run

    before = find_last_run()
    try:
        decide(workspace=str(place), fresh=fresh)
    except httpx.TransportError as error:
        lost = f"the Prefect server at {api} was lost: {error or type(error).__name__}"
        if find_last_run() == before:
            raise RunStoppedError(
                f"{lost}. What was finished is kept, `breakeven run` goes on from there"
            ) from error
        console.print(Text(f"{lost}; the run itself is complete", "yellow"), soft_wrap=True)


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
