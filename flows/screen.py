"""What a person sees of a run: a live list of stages on a terminal, plain lines elsewhere."""

import time
from collections import deque
from typing import Literal

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from stages.contract import NODES, Stage

State = Literal["waits", "runs", "executed", "cached", "passed by", "failed"]
_SIGNS: dict[State, tuple[str, str]] = {
    "waits": ("·", "dim"),
    "runs": ("▶", "bold cyan"),
    "executed": ("✓", "green"),
    "cached": ("=", "green"),
    "passed by": ("–", "dim"),
    "failed": ("✗", "bold red"),
}
_TAIL = 6


class Screen:
    """Stages with their state and time, and the last lines of the one that runs."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console()
        self._states: dict[Stage, State] = dict.fromkeys(Stage, "waits")
        self._words: dict[Stage, str] = dict.fromkeys(Stage, "")
        self._seconds: dict[Stage, float] = {}
        self._began: dict[Stage, float] = {}
        self._tail: deque[str] = deque(maxlen=_TAIL)
        self._live: Live | None = None

    def open(self) -> None:
        """Begin; on a terminal the list stays in place while it changes."""
        if self.console.is_terminal:
            self._live = Live(
                console=self.console, get_renderable=self._render, refresh_per_second=4
            )
            self._live.start()

    def close(self) -> None:
        """End; the list remains as it is."""
        self._tail.clear()
        if self._live is not None:
            self._live.stop()
            self._live = None

    def note(self, text: str) -> None:
        """Say something that stays above the list."""
        self.console.print(Text(text, "yellow"), soft_wrap=True)

    def started(self, stage: Stage) -> None:
        """A stage begins."""
        self._states[stage], self._began[stage] = "runs", time.monotonic()
        self._tail.clear()

    def line(self, text: str) -> None:
        """A line that the running stage wrote."""
        self._tail.append(text)
        if self._live is None:
            self.console.print(Text(f"    {text}"), soft_wrap=True)

    def ended(self, stage: Stage, state: State, words: str) -> None:
        """A stage has ended; `words` is its verdict and reason."""
        self._states[stage], self._words[stage] = state, words
        if stage in self._began:
            self._seconds[stage] = time.monotonic() - self._began[stage]
        self._tail.clear()
        if self._live is None and state != "passed by":
            sign, _ = _SIGNS[state]
            time_text = self._time(stage)
            self.console.print(
                Text(f"{sign} {NODES[stage]} {stage:<18}{state:<9}{time_text:>8}  {words}"),
                soft_wrap=True,
            )

    def _time(self, stage: Stage) -> str:
        if self._states[stage] == "runs":
            return f"{time.monotonic() - self._began[stage]:.0f} s"
        return f"{self._seconds[stage]:.1f} s" if stage in self._seconds else ""

    def _render(self) -> RenderableType:
        table = Table.grid(padding=(0, 1))
        for stage in Stage:
            sign, style = _SIGNS[self._states[stage]]
            words = Text(self._words[stage], overflow="ellipsis", no_wrap=True)
            table.add_row(
                Text(sign, style),
                NODES[stage],
                Text(stage, style),
                Text(self._states[stage], style),
                Text(self._time(stage), justify="right"),
                words,
            )
        tail = [
            Text(f"  │ {line}", "dim", overflow="ellipsis", no_wrap=True) for line in self._tail
        ]
        return Group(table, *tail)
