"""Folders to be built, and a compiler that a test can hold on to."""

import os
import signal
import stat
import time
from pathlib import Path

from kernels.folder import OperatorFolder

SOURCE = """
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/tensor.h>

torch::stable::Tensor same(const torch::stable::Tensor& x) {
  return x;
}

STABLE_TORCH_LIBRARY_FRAGMENT(breakeven_test_build, m) {
  m.def("same(Tensor x) -> Tensor");
}
"""
PLAIN_SOURCE = "int twice(int x) { return 2 * x; }\n"
"""Compiles in no time; nothing to be loaded."""


def make_folder(path: Path, **sources: str) -> OperatorFolder:
    """An operator's folder with sources by their stems; the build looks at nothing else."""
    (path / "csrc").mkdir(parents=True)
    for stem, text in (sources or {"same": PLAIN_SOURCE}).items():
        (path / "csrc" / f"{stem}.cpp").write_text(text)
    return OperatorFolder(path, "unused")


class WatchedCompiler:
    """g++ behind a script that first does something else, each time that it compiles a source."""

    def __init__(self, place: Path, first: str) -> None:
        """Write the script; `first` is what it does before, in the language of the shell."""
        place.mkdir(parents=True)
        self.path = place / "watched"
        self._calls = place / "calls"
        compiles = f'case " $* " in *" -c "*) echo $$ >> {self._calls}; {first};; esac'
        self.path.write_text(f'#!/bin/sh\n{compiles}\nexec g++ "$@"\n')
        self.path.chmod(self.path.stat().st_mode | stat.S_IXUSR)

    @property
    def pids(self) -> list[int]:
        """Of its processes that compiled, so far."""
        return [int(pid) for pid in self._calls.read_text().split()] if self._calls.exists() else []

    def wait_for_call(self, time_limit_s: float = 200) -> None:
        """Wait until it is compiling."""
        end = time.monotonic() + time_limit_s
        while not self.pids:
            assert time.monotonic() < end, "the build did not come to compile"
            time.sleep(0.02)

    def end(self) -> None:
        """End what a killed build has left running; each leads a group of its own."""
        for pid in self.pids:
            try:
                os.killpg(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
