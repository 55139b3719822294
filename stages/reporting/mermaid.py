"""The guide's graph for Markdown, with the taken path marked."""

from stages.reporting.evidence import Evidence
from stages.reporting.guide_graph import EDGES, NODES, outcomes, taken_nodes, taken_steps

TAKEN = "#0f766e"


def draw_mermaid(evidence: Evidence) -> str:
    """A Mermaid graph: tints as in the guide, added parts dashed, the taken path thick."""
    steps, reached, said = taken_steps(evidence), taken_nodes(evidence), outcomes(evidence)
    lines = ["graph TD"]
    for letter, node in NODES.items():
        text = f"{node.chinese}<br/>{node.english}"
        if letter in said:
            text += f"<br/><b>{said[letter]}</b>"
        left, right = ("{", "}") if node.form == "question" else ("[", "]")
        lines.append(f'  {letter}{left}"{text}"{right}')
    for (start, end), edge in EDGES.items():
        label = f"|{edge.label}|" if edge.label else ""
        lines.append(f"  {start} {'-.->' if edge.is_added else '-->'}{label} {end}")
    for letter, node in NODES.items():
        if node.tint:
            lines.append(f"  style {letter} fill:{node.tint},stroke:#333")
    lines += [
        f"  classDef taken stroke:{TAKEN},stroke-width:4px",
        "  classDef added stroke-dasharray: 5 4",
        "  classDef passed opacity:0.5",
        f"  class {','.join(sorted(reached))} taken",
        f"  class {','.join(letter for letter, node in NODES.items() if node.is_added)} added",
    ]
    passed = [letter for letter in NODES if letter not in reached]
    if passed:
        lines.append(f"  class {','.join(passed)} passed")
    numbers = [str(index) for index, step in enumerate(EDGES) if step in steps]
    lines.append(f"  linkStyle {','.join(numbers)} stroke:{TAKEN},stroke-width:4px")
    return "\n".join(lines)
