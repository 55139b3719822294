"""The guide's graph as data: as it is, what is added to it (dashed), and the path taken."""

from dataclasses import dataclass
from typing import Any, Literal

from stages.contract import EmbedVerdict, Stage
from stages.reporting.evidence import Evidence

Step = tuple[str, str]


@dataclass(frozen=True)
class Node:
    """A box, or a diamond for a question."""

    chinese: str
    english: str
    form: Literal["box", "question"] = "box"
    tint: str | None = None
    is_added: bool = False
    """Not in the guide: drawn dashed."""


@dataclass(frozen=True)
class Edge:
    """A way from one node to another."""

    label: str = ""
    is_added: bool = False


NODES: dict[str, Node] = {
    "A": Node("业务数据输入", "Business data"),
    "B": Node("标准算子库支持？", "Standard operators enough?", "question"),
    "C": Node("常规训练流程", "Regular training path"),
    "D": Node("编写自定义算子", "Write the custom operator", tint="#ff99ff"),
    "E": Node("嵌入计算图", "Embed in the compute graph"),
    "F": Node("单机训练", "Train on one machine"),
    "G": Node("显存/耗时是否超标？", "Memory or time over budget?", "question"),
    "H": Node("启用分布式训练", "Train distributed", tint="#bbbbff"),
    "I": Node("完成模型产出", "Model produced"),
    "P": Node("小规模试验", "Pilot", is_added=True),
    "N": Node("数值验证", "Numerics", is_added=True),
    "S": Node("扩展性测试", "Scaling check", is_added=True),
    "R": Node("决策记录", "Decision record", is_added=True),
}

EDGES: dict[Step, Edge] = {
    ("A", "B"): Edge(),
    ("B", "C"): Edge("是 yes"),
    ("B", "D"): Edge("否 no"),
    ("D", "E"): Edge(),
    ("C", "F"): Edge(),
    ("E", "G"): Edge(),
    ("G", "H"): Edge("是 yes"),
    ("G", "I"): Edge("否 no"),
    ("H", "I"): Edge(),
    ("F", "I"): Edge(),
    ("B", "P"): Edge("accuracy claimed", is_added=True),
    ("P", "D"): Edge("lifts", is_added=True),
    ("P", "C"): Edge("no lift", is_added=True),
    ("D", "N"): Edge(is_added=True),
    ("D", "C"): Edge("refused or build failed", is_added=True),
    ("E", "C"): Edge("embedding refused", is_added=True),
    ("C", "G"): Edge("budget checked here too", is_added=True),
    ("G", "S"): Edge(is_added=True),
    ("G", "F"): Edge("scaling does not pay", is_added=True),
    ("G", "R"): Edge("impossible", is_added=True),
    ("I", "R"): Edge(is_added=True),
}


def taken_steps(evidence: Evidence) -> tuple[Step, ...]:
    """The ways that were gone, in order; from the results alone: it cannot differ from them."""
    steps: list[Step] = [("A", "B")]
    asked = "B"
    if evidence.pilot is not None:
        steps.append(("B", "P"))
        asked = "P"
    if evidence.build is None:
        steps.append((asked, "C"))
    else:
        steps.append((asked, "D"))
        if evidence.numerics is not None:
            steps.append(("D", "N"))
        if evidence.embed is None:
            steps.append(("D", "C"))
        elif evidence.embed.verdict is EmbedVerdict.embedded:
            steps += [("D", "E"), ("E", "G")]
        else:
            steps += [("D", "E"), ("E", "C")]
    return (*steps, *_training_steps(evidence, steps[-1][1] == "C"))


def _training_steps(evidence: Evidence, is_at_c: bool) -> list[Step]:
    steps: list[Step] = [("C", "G")] if is_at_c and evidence.budget is not None else []
    scaling = evidence.scaling
    if scaling is None:
        steps += [("C", "F"), ("F", "I")] if is_at_c else [("G", "I")]
    else:
        steps.append(("G", "S"))
        if scaling.next is Stage.train_distributed:
            steps += [("G", "H"), ("H", "I")]
        elif scaling.next is Stage.train_single:
            steps += [("G", "F"), ("F", "I")]
        else:
            return [*steps, ("G", "R")]
    return [*steps, ("I", "R")]


def letters(evidence: Evidence) -> str:
    """The path in the guide's own letters, such as "A → B → C → F → I".

    "G (no) → I" holds the training on one machine, which the guide does not draw there.
    """
    steps = taken_steps(evidence)
    is_asked = ("G", "S") in steps
    path = ["A"]
    for start, end in steps:
        is_only_checked = (start, end) == ("C", "G") and not is_asked
        if NODES[end].is_added or is_only_checked or end == path[-1]:
            continue
        path.append(end)
    answer = "G (yes)" if is_asked else "G (no)"
    return " → ".join(answer if letter == "G" else letter for letter in path)


def taken_nodes(evidence: Evidence) -> frozenset[str]:
    """Nodes on the taken path."""
    return frozenset(letter for step in taken_steps(evidence) for letter in step)


def outcomes(evidence: Evidence) -> dict[str, str]:
    """The verdict beside each node that was asked something."""
    asked: dict[str, Any] = {
        "B": evidence.support,
        "P": evidence.pilot,
        "D": evidence.build,
        "N": evidence.numerics,
        "E": evidence.embed,
        "G": evidence.budget,
        "S": evidence.scaling,
    }
    told = {
        letter: str(r.verdict).replace("_", " ") for letter, r in asked.items() if r is not None
    }
    if evidence.model is not None:
        told["I"] = f"targets {evidence.model.verdict}"
    return told
