"""How fast our operators are, beside everything else that does their work on a CPU.

    python -m kernels.benchmark [OPERATOR] [--quick] [--only PATTERN] [--json FILE] [--plot FILE]

A whole run takes half an hour of a machine that does nothing else. To renew what is committed:

    python -m kernels.benchmark --json docs/benchmark/NAME.json --plot docs/benchmark/NAME.png
    python -m kernels.benchmark --readme README.md

A *suite* is one operator's benchmark. It has *scenes* (one input each) and *entrants* (ways to the
result: ours, libraries, compositions of standard operators). Each entrant's result is compared with
ours once; then all take turns in one process, under the same number of threads.
"""
