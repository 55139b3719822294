"""The guide's graph as inline SVG: a page without network has no drawing library."""

from dataclasses import dataclass
from html import escape

from stages.reporting.evidence import Evidence
from stages.reporting.guide_graph import (
    EDGES,
    NODES,
    Node,
    Step,
    outcomes,
    taken_nodes,
    taken_steps,
)

WIDTH, HEIGHT = 1000, 935
TAKEN, PASSED = "#0f766e", "#9aa5b1"
Point = tuple[float, float]


@dataclass(frozen=True)
class Place:
    """Centre and size of a node."""

    x: float
    y: float
    width: float = 220
    height: float = 64


PLACES: dict[str, Place] = {
    "A": Place(440, 40),
    "B": Place(440, 152, 330, 116),
    "C": Place(160, 285),
    "P": Place(440, 285, 150),
    "D": Place(730, 285),
    "N": Place(925, 350, 130),
    "E": Place(730, 415),
    "F": Place(160, 555),
    "G": Place(730, 555, 330, 116),
    "S": Place(560, 675, 150),
    "H": Place(730, 750),
    "I": Place(440, 805),
    "R": Place(440, 895, 220, 52),
}

WAYS: dict[Step, tuple[Point, ...]] = {
    ("A", "B"): ((440, 72), (440, 94)),
    ("B", "C"): ((275, 152), (160, 152), (160, 253)),
    ("B", "D"): ((605, 152), (730, 152), (730, 253)),
    ("B", "P"): ((440, 210), (440, 253)),
    ("P", "D"): ((515, 285), (620, 285)),
    ("P", "C"): ((365, 285), (270, 285)),
    ("D", "E"): ((730, 317), (730, 383)),
    ("D", "N"): ((730, 350), (860, 350)),
    ("D", "C"): ((650, 317), (650, 348), (245, 348), (245, 317)),
    ("E", "C"): ((620, 415), (205, 415), (205, 317)),
    ("C", "F"): ((110, 317), (110, 523)),
    ("C", "G"): ((165, 317), (165, 472), (650, 472), (650, 525)),
    ("E", "G"): ((730, 447), (730, 497)),
    ("G", "H"): ((730, 613), (730, 718)),
    ("G", "S"): ((730, 675), (635, 675)),
    ("G", "F"): ((565, 555), (270, 555)),
    ("G", "I"): ((645, 583), (645, 622), (440, 622), (440, 773)),
    ("G", "R"): ((895, 555), (945, 555), (945, 895), (550, 895)),
    ("H", "I"): ((730, 782), (730, 805), (550, 805)),
    ("F", "I"): ((160, 587), (160, 805), (330, 805)),
    ("I", "R"): ((440, 837), (440, 869)),
}
LABELS: dict[Step, Point] = {
    ("B", "C"): (220, 144),
    ("B", "D"): (665, 144),
    ("B", "P"): (440, 234),
    ("P", "D"): (565, 277),
    ("P", "C"): (317, 277),
    ("D", "C"): (440, 341),
    ("E", "C"): (440, 408),
    ("C", "G"): (410, 465),
    ("G", "H"): (765, 645),
    ("G", "F"): (420, 548),
    ("G", "I"): (540, 615),
    ("G", "R"): (945, 740),
}


def draw_svg(evidence: Evidence) -> str:
    """One `<svg>` element: taken ways thick, the rest pale, what the guide does not have dashed."""
    steps, reached, said = taken_steps(evidence), taken_nodes(evidence), outcomes(evidence)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'aria-label="The decision graph with the taken path marked" class="graph">',
        "<defs>" + _arrow("taken", TAKEN) + _arrow("passed", PASSED) + "</defs>",
    ]
    passed_first = sorted(EDGES, key=lambda step: step in steps)
    parts += [_draw_way(step, step in steps) for step in passed_first]
    parts += [
        _draw_node(letter, node, letter in reached, said.get(letter))
        for letter, node in NODES.items()
    ]
    return "\n".join([*parts, "</svg>"])


def _arrow(name: str, colour: str) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 10 10" refX="9" refY="5" markerUnits="userSpaceOnUse" '
        f'markerWidth="13" markerHeight="13" orient="auto"><path d="M0 0L10 5L0 10z" '
        f'fill="{colour}"/></marker>'
    )


def _draw_way(step: Step, is_taken: bool) -> str:
    edge = EDGES[step]
    name = "taken" if is_taken else "passed"
    points = " ".join(f"{x},{y}" for x, y in WAYS[step])
    dash = ' stroke-dasharray="7 5"' if edge.is_added else ""
    drawn = (
        f'<polyline data-way="{step[0]}{step[1]}" class="way {name}" points="{points}" fill="none" '
        f'stroke="{TAKEN if is_taken else PASSED}" stroke-width="{3.5 if is_taken else 1.4}"{dash} '
        f'stroke-linejoin="round" marker-end="url(#{name})"/>'
    )
    if not edge.label:
        return drawn
    x, y = LABELS[step]
    return drawn + (
        f'<text class="label {name}" x="{x}" y="{y}" text-anchor="middle" paint-order="stroke" '
        f'stroke="#fff" stroke-width="5" font-size="13" fill="{TAKEN if is_taken else "#5b6673"}"'
        f"{' font-weight=' + chr(34) + '600' + chr(34) if is_taken else ''}>{edge.label}</text>"
    )


def _draw_node(letter: str, node: Node, is_taken: bool, said: str | None) -> str:
    place = PLACES[letter]
    x, y, width, height = place.x, place.y, place.width, place.height
    outline = (
        f'fill="{node.tint or "#ffffff"}" stroke="{TAKEN if is_taken else "#7b8794"}" '
        f'stroke-width="{3 if is_taken else 1.2}"'
        + (' stroke-dasharray="7 5"' if node.is_added else "")
    )
    if node.form == "question":
        corners = (
            (x, y - height / 2),
            (x + width / 2, y),
            (x, y + height / 2),
            (x - width / 2, y),
        )
        shape = f'<polygon points="{" ".join(f"{a},{b}" for a, b in corners)}" {outline}/>'
    else:
        shape = (
            f'<rect x="{x - width / 2}" y="{y - height / 2}" width="{width}" height="{height}" '
            f'rx="9" {outline}/>'
        )
    name = node.chinese if node.is_added else f"{letter}　{node.chinese}"
    lines = [(name, 15, 600), (node.english, 12, 400)]
    if said:
        lines.append((said, 12, 700))
    top = y - 17 * (len(lines) - 1) / 2 + 4.5
    text = "".join(
        f'<text x="{x}" y="{top + 17 * row}" text-anchor="middle" font-size="{size}" '
        f'font-weight="{weight}" fill="{TAKEN if row == 2 else "#1f2933"}">{escape(line)}</text>'
        for row, (line, size, weight) in enumerate(lines)
    )
    faded = "" if is_taken else ' opacity="0.5"'
    state = "taken" if is_taken else "passed"
    return f'<g data-node="{letter}" class="node {state}"{faded}>{shape}{text}</g>'
