"""The command; the environment has to be set before torch is imported."""

import os

# OpenMP threads that wait for long would be billed to whoever is timed next on another thread.
os.environ.setdefault("GOMP_SPINCOUNT", "10000")

from kernels.benchmark.command import main

if __name__ == "__main__":
    raise SystemExit(main())
