"""The last screen of a run: verdict, reason, path, figures, and where everything is."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from flows.last_run import LastRun, find_last_run
from stages.contract import (
    DecisionResult,
    Figure,
    InputError,
    Stage,
    folder,
    read,
    read_raw,
    result_path,
)


def show_report(console: Console) -> None:
    """Print the last record of the workspace in the current folder.

    Raises:
        InputError: there is none.
    """
    if not result_path(Stage.record_decision).is_file():
        raise InputError(
            f"expected a decision record in {folder(Stage.record_decision).resolve()}, found none: "
            f"start with `breakeven run`"
        )
    record = read(Stage.record_decision, DecisionResult)
    support = read_raw(Stage.check_support)
    console.print()
    console.rule()
    console.print(f"[bold]{escape(record.headline)}", soft_wrap=True, highlight=False)
    _fact(console, "verdict", f"{support.get('verdict')} ({record.operator})")
    _fact(console, "reason", support["reason"])
    _fact(console, "path", record.nodes)
    console.print(_figures(record.figures))
    if record.economics_are_examples:
        _fact(
            console, "prices", "examples of the repository, not yours: see product in params.yaml"
        )
    _fact(console, "record", str((folder(Stage.record_decision) / "decision.html").resolve()))
    _fact(console, "model", _model(record, find_last_run()))
    _fact(console, "look", "`breakeven report` shows this again, `breakeven ui` opens every run")


def _figures(figures: dict[str, Figure]) -> Table:
    table = Table(show_header=True, header_style="dim", box=None, padding=(0, 2))
    table.add_column("figure")
    table.add_column("value", justify="right")
    table.add_column("95 % interval, or why it is unknown", style="dim")
    for name, figure in figures.items():
        if figure.value is None:
            table.add_row(name, "unknown", escape(figure.reason or ""))
        elif figure.low is None or figure.high is None:
            table.add_row(name, f"{figure.value:.4g}", "")
        else:
            table.add_row(name, f"{figure.value:.4g}", f"{figure.low:.4g} to {figure.high:.4g}")
    return table


def _model(record: DecisionResult, last: LastRun | None) -> str:
    if not record.has_model:
        return "none: the path ends without one"
    place = str(folder(Stage.produce_model).resolve())
    if last is None or last.model_name is None:
        return f"{place}, not registered yet: `breakeven collect`"
    alias = ", champion" if last.is_champion else ", not champion: a target was missed"
    return f"{last.model_name} version {last.model_version}{alias}; packed in {place}"


def _fact(console: Console, name: str, text: str) -> None:
    console.print(f"[bold]{name:<8}[/bold] {escape(text)}", soft_wrap=True, highlight=False)
