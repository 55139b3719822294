"""Find what matters in what compilers and linkers say."""

import re
from collections.abc import Iterable

NUM_QUOTED = 10

_ERROR = re.compile(
    r"^\S.*?:\d+:(?:\d+:)? (?:fatal )?error: "  # g++, clang
    r"|^\S.*?\(\d+\): (?:catastrophic |internal )?error\b"  # nvcc
    r"|^(?:nvcc fatal|ptxas (?:fatal|error)|nvlink error|\S*: fatal error:)"
    r"|undefined reference to|multiple definition of|cannot find -l"
)
# Not the linker's: it warns of libraries that torch brings and that are found when it is loaded.
_WARNING = re.compile(r"^(?:\S.*?(?::\d+:(?:\d+:)?|\(\d+\):)|ptxas|nvcc) ?warning\b")


def find_errors(output: str) -> tuple[str, ...]:
    """The lines that state an error, with file and line where they have one; each once."""
    lines = (line.strip() for line in output.splitlines())
    return tuple(dict.fromkeys(line for line in lines if _ERROR.search(line)))


def count_warnings(outputs: Iterable[str]) -> int:
    """How many warnings there are; one that comes again, for another architecture, counts once."""
    lines = {line for text in outputs for line in text.splitlines()}
    return sum(bool(_WARNING.match(line)) for line in lines)


def quote(errors: tuple[str, ...]) -> str:
    """The first errors, one a line, and how many more there are."""
    more = len(errors) - NUM_QUOTED
    return "\n".join((*errors[:NUM_QUOTED], *([f"and {more} more"] if more > 0 else [])))
