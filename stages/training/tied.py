"""Run a command that ends when its starter ends, however that ends: `python -m stages.training.tied
COMMAND...`.

A launcher in a session of its own would outlive a stage that is killed; the kernel sends it
SIGTERM."""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Tie this process to its parent, then become the command."""
    starter, command = int(sys.argv[1]), sys.argv[2:]
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    if os.getppid() != starter:
        sys.exit("the starter had ended before its command could begin")
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
