"""Judge operators of unknown making: `python -m stages.numerics.judge DIR`.

DIR holds one operator, or a folder for each of several. An operator is `op.py` with
`load(build_directory)`, which builds and returns it, and `meta.json` with `base` (the contract:
ccl, edt or wdice) and `namespace`; nothing else of that file is read. One JSON line comes out for
each folder: id, verdict (pass, fail or build-failed), findings (check, reason, example), seconds.

Exit status: 0 all pass, 1 some do not, 2 DIR is at fault.
"""

import json
import sys
import time
from pathlib import Path

from stages.numerics.stranger import Stranger, StrangerError, judge_stranger, open_stranger


def find_operators(directory: Path) -> list[Stranger]:
    """The folder itself, or those in it that hold an `op.py`, by name.

    Raises:
        StrangerError: no operator is there.
    """
    if (directory / "op.py").is_file():
        return [open_stranger(directory)]
    folders = sorted(path.parent for path in directory.glob("*/op.py"))
    if not folders:
        raise StrangerError(
            f"{directory}: expected op.py in it, or folders that hold one; found none"
        )
    return [open_stranger(folder) for folder in folders]


def main(arguments: list[str]) -> int:
    """Judge what the one argument names."""
    if len(arguments) != 1:
        print("usage: python -m stages.numerics.judge DIR", file=sys.stderr)
        return 2
    try:
        operators = find_operators(Path(arguments[0]))
    except StrangerError as error:
        print(error, file=sys.stderr)
        return 2
    have_all_passed = True
    for operator in operators:
        began = time.monotonic()
        verdict = judge_stranger(operator)
        seconds = round(time.monotonic() - began, 1)
        line = {"id": operator.folder.name, **verdict, "seconds": seconds}
        print(json.dumps(line, ensure_ascii=False), flush=True)
        have_all_passed &= verdict["verdict"] == "pass"
    return 0 if have_all_passed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
