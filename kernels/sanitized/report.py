"""From what the sanitizers print to one finding in words."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_ADDRESS = re.compile(r"ERROR: AddressSanitizer: ([\w-]+)")
_ACCESS = re.compile(r"^(READ|WRITE) of size (\d+)", re.MULTILINE)
_ARITHMETIC = re.compile(r"^(\S+?:\d+):(?:\d+:)? runtime error: (.+)$", re.MULTILINE)
_ASSERTION = re.compile(r"Assertion '(.+)' failed")
_FRAME = re.compile(r"^\s*#\d+ 0x[0-9a-f]+ in (.+?) (/\S+?:\d+)(?::\d+)?\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Finding:
    """The first fault of an operator; `str` of it is one sentence."""

    what: str
    """Such as "heap-buffer-overflow, a write of 4 bytes", "signed integer overflow: ..."."""
    where: str | None
    """`csrc/file.cpp:line`, the operator's own line; None where the report names none."""
    call: str | None
    """Case, variant, instruction set and threads; None when it came to no call."""
    report: str
    """All that was printed, for whoever looks into it."""

    def __str__(self) -> str:
        at = f" at {self.where}" if self.where else ""
        on = f", in the call: {self.call}" if self.call else ""
        return f"{self.what}{at}{on}"


def read_report(report: str, sources: Sequence[Path]) -> tuple[str, str | None] | None:
    """What is wrong and on which line of the operator; None when no sanitizer said anything.

    Args:
        report: what the process printed.
        sources: folders of the operator's own files; a frame within them is where the fault is.
    """
    if found := _ARITHMETIC.search(report):
        return found.group(2), _shorten(found.group(1))
    if found := _ASSERTION.search(report):  # it aborts, which the address sanitizer reports too
        what = f"assertion of the standard library: {found.group(1)}"
        return what, _own_line(report, found.end(), sources)
    if found := _ADDRESS.search(report):
        access = _ACCESS.search(report, found.end())
        what = found.group(1)
        if access:
            what += f", a {access.group(1).lower()} of {access.group(2)} bytes"
        return what, _own_line(report, found.end(), sources)
    return None


def _own_line(report: str, start: int, sources: Sequence[Path]) -> str | None:
    for _, place in _FRAME.findall(report, start):
        path = Path(place.rpartition(":")[0])
        if any(folder in path.parents for folder in sources):
            return _shorten(place)
    return None


def _shorten(place: str) -> str:
    """`csrc/file.cpp:12` of a path and its line."""
    return "/".join(Path(place).parts[-2:])
