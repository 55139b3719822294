"""`python -m kernels.sanitized OPERATOR...`: exit 0 without a fault, 1 with one, 2 if not built."""

import argparse
import sys

from kernels.build import BuildFailed
from kernels.folder import BUNDLED, open_operator
from kernels.sanitized.watch import THREAD_COUNTS, watch


def main() -> int:
    """Watch the named operators, or all bundled ones, and say what was found."""
    bundled = sorted(spec.parent.name for spec in BUNDLED.glob("*/spec.py"))
    parser = argparse.ArgumentParser(prog="python -m kernels.sanitized", description=__doc__)
    parser.add_argument("operators", nargs="*", default=bundled, help="name or folder")
    parser.add_argument("--report", action="store_true", help="print the sanitizer's whole report")
    options = parser.parse_args()
    status = 0
    for name in options.operators:
        try:
            watched = watch(open_operator(name))
        except (BuildFailed, FileNotFoundError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            return 2
        if watched.finding is not None:
            status = 1
            print(f"{name}: {watched.finding}")
            if options.report:
                print(watched.finding.report)
            continue
        levels = ", ".join(filter(None, watched.levels)) or "one instruction set"
        print(
            f"{name}: no fault in {watched.num_calls} calls on {watched.num_cases} cases; "
            f"{levels}; {' and '.join(map(str, THREAD_COUNTS))} threads; {watched.seconds:.0f} s"
        )
    return status


if __name__ == "__main__":
    sys.exit(main())
