"""What the record shows as a table, in HTML and Markdown alike."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """A titled table of plain strings; the first column names the row."""

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
