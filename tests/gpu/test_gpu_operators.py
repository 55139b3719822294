"""The operators on a GPU, where there is one: the checks of run.py, one test each operator.

Skipped without a GPU; under REQUIRE_GPU=1 its absence is a failure.
"""

import os
from itertools import groupby

import pytest
import torch
from gpu_checks import Check, all_checks

HAS_GPU = torch.version.cuda is not None and torch.cuda.is_available()
REASON = f"torch {torch.__version__} sees no GPU"


def test_a_gpu_is_there_where_one_is_required() -> None:
    """REQUIRE_GPU=1 tells a machine that should have a GPU from one that need not."""
    if os.environ.get("REQUIRE_GPU") != "1" and not HAS_GPU:
        pytest.skip(REASON)
    assert HAS_GPU, REASON


def _groups() -> dict[str, list[Check]]:
    """Checks by what comes before the colon or comma of their names; none is run here."""
    checks = list(all_checks(torch.device("cuda")))
    key = lambda check: check.name.split(":")[0].split(",")[0]  # noqa: E731
    return {name: list(group) for name, group in groupby(checks, key=key)}


@pytest.mark.skipif(not HAS_GPU, reason=REASON)
@pytest.mark.parametrize("name", list(_groups()))
def test_operators_answer_on_a_gpu_as_on_a_cpu(name: str) -> None:
    """Cases, dtypes, layouts, streams, repeats, gradients: all that gpu_checks.py lists."""
    failed = []
    for check in _groups()[name]:
        try:
            check.run()
        except AssertionError as error:
            failed.append(f"{check.name}: {error}")
    assert failed == []
