"""Each check finds the fault that is planted for it, and right operators pass all of them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from planted_operators import planted

NAMES = {name: one.check for name, one in planted().items()}


@pytest.fixture(scope="module")
def found(root: Path) -> dict[str, dict[str, Any]]:
    """What the checks say of every planted operator; their forks need a process without threads."""
    script = Path(__file__).with_name("planted_operators.py")
    answer = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [json.loads(line) for line in answer.stdout.splitlines()]
    return {line["name"]: line for line in lines}


@pytest.mark.parametrize("name", [name for name, check in NAMES.items() if check is not None])
def test_planted_fault_is_found_by_its_check(found: dict[str, dict[str, Any]], name: str) -> None:
    """The check that is there for this kind of fault names it."""
    assert list(found[name]["faults"]) == [NAMES[name]]


@pytest.mark.parametrize("name", [name for name, check in NAMES.items() if check is None])
def test_right_operator_has_no_fault(found: dict[str, dict[str, Any]], name: str) -> None:
    """Every quick check is put to it, and none accuses it."""
    assert found[name]["faults"] == {}
    assert found[name]["asked"] >= 10


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("one value", "29 instead of 28"),
        ("dies", "the process died of SIGFPE"),
        ("never ends", "stood still for"),
        ("varies", "2 different results in"),
        ("no fake", "@torch.library.register_fake('planted::unknown')"),
        ("mean of weights", "all of those with weight scalar, on none with full"),
        ("leak", "bytes a call"),
        ("led", "under float64 as the default dtype"),
        ("ends badly", "ends with SIGABRT"),
        ("arguments kept", "keep arguments by ctx.save_for_backward"),
        ("dense memory", "on a view (than on its contiguous copy)"),
    ],
)
def test_finding_says_what_is_wrong(
    found: dict[str, dict[str, Any]], name: str, words: str
) -> None:
    """In words that lead to the fault."""
    (fault,) = found[name]["faults"].values()
    assert words in fault


def test_counter_example_is_the_smallest_and_can_be_pasted(
    found: dict[str, dict[str, Any]],
) -> None:
    """Run as it is printed, it shows the fault."""
    example = found["one value"]["example"]
    assert example.splitlines()[1] == "x0 = torch.full((1, 1), 14, dtype=torch.uint8)"
    shown: dict[str, Any] = {"twice": lambda x: x * 2 + (x == 14)}
    exec("result = None\n" + example.replace("twice(", "result = twice("), shown)
    assert shown["result"].tolist() == [[29]]
