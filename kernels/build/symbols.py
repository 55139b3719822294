"""Audit a library: what does it need of torch beyond the stable ABI?"""

import re
import shutil
import subprocess
from pathlib import Path

_TORCH_NAME = re.compile(r"(?<![\w:])(?:at|c10)::")


def undefined_torch_symbols(library: Path) -> tuple[str, ...]:
    """Undefined `at::` and `c10::` symbols, demangled and sorted; none in a stable-ABI library.

    Defined ones do no harm: header-only code leaves weak `c10::` symbols.

    Raises:
        RuntimeError: `nm` is absent or cannot read the file.
    """
    nm = shutil.which("nm")
    if nm is None:
        raise RuntimeError("expected nm on PATH; install binutils")
    command = [nm, "-DC", "--undefined-only", str(library)]
    listing = subprocess.run(command, capture_output=True, text=True, check=False)
    if listing.returncode != 0:
        raise RuntimeError(f"{library}: nm could not read it: {listing.stderr.strip()}")
    symbols = (line.strip().removeprefix("U ") for line in listing.stdout.splitlines())
    return tuple(sorted(symbol for symbol in symbols if _TORCH_NAME.search(symbol)))
