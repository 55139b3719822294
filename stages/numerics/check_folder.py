"""Judge an operator's folder and do nothing else: `python -m stages.numerics.check_folder FOLDER`.

Exit status 0 when it is accepted, 1 when it is rejected, 2 when the folder is not an operator's.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from kernels.build import BuildFailed, build
from kernels.folder import OperatorFolder, open_operator
from kernels.inspection import inspect_operator
from stages.contract import NumericsCheck
from stages.numerics.request import Extent, Request
from stages.numerics.sanitizing import check_sanitizers
from stages.numerics.supervise import examine_folder

CHECK_LIMIT_S = 120.0
BATTERY_LIMIT_S = 3600.0
SANITIZERS_LIMIT_S = 900.0


def check_folder(
    folder: Path, extent: Extent = "full", device: str = "cpu"
) -> Iterator[NumericsCheck]:
    """Build the operator, if it has sources, and put every check to it; a full examination ends
    with a second build, under sanitizers.

    Raises:
        BuildFailed: it does not compile.
    """
    operator = open_operator(folder)
    library = str(build(operator).library) if operator.sources else None
    request = Request(str(operator.path), library, device, extent, CHECK_LIMIT_S)
    yield from examine_folder(request, BATTERY_LIMIT_S)
    if extent == "full" and operator.sources:
        yield check_sanitizers(operator, SANITIZERS_LIMIT_S)


def format_check(check: NumericsCheck) -> str:
    """One line; under a failed one, Python that shows the fault."""
    sign = "✓" if check.passed else "✗"
    asked = f"{check.num_cases:5d} calls {check.seconds:6.1f} s" if check.num_cases else ""
    lines = [f"{sign} {check.name:<16} {asked:>20}  {check.detail}"]
    if check.counter_example is not None:
        lines += [f"      {line}" for line in check.counter_example.splitlines()]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what each check found; the exit status is the verdict."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    extent: Extent = "quick" if "--quick" in arguments else "full"
    folders = [argument for argument in arguments if argument != "--quick"]
    if len(folders) != 1:
        print("usage: python -m stages.numerics.check_folder FOLDER [--quick]", file=sys.stderr)
        return 2
    try:
        operator = _expect_operator(folders[0])
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    try:
        checks = []
        for check in check_folder(operator.path, extent):
            print(format_check(check), flush=True)
            checks.append(check)
    except BuildFailed as error:
        print(f"rejected: it was not built. {error}")
        return 1
    failed = [check.name for check in checks if not check.passed]
    asked = sum(bool(check.num_cases) for check in checks)
    if failed:
        print(f"rejected: {operator.spec.name} failed {', '.join(failed)}")
        return 1
    print(f"accepted: {operator.spec.name} passed {asked} checks")
    return 0


def _expect_operator(name_or_path: str) -> OperatorFolder:
    """A bundled name, or a folder that holds what the contract asks for."""
    operator = open_operator(name_or_path)
    inspect_operator(operator.path)
    return operator


if __name__ == "__main__":
    sys.exit(main())
