"""Plants made by rule: at every place of an operator's own C++ where the rule applies."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from plant import Plant
from subject import OWN


@dataclass(frozen=True)
class Rule:
    """One small change."""

    kind: str
    pattern: str
    new: str
    """With groups of the pattern."""


RULES = (
    Rule("comparison made strict", r"<= ", "< "),
    Rule("comparison made strict", r">= ", "> "),
    Rule("comparison made lax", r"(?<=[\w\])]) < (?!<)", " <= "),
    Rule("comparison made lax", r"(?<=[\w\])]) > (?!>)", " >= "),
    Rule("equality negated", r" == ", " != "),
    Rule("equality negated", r" != ", " == "),
    Rule("and for or", r" && ", " || "),
    Rule("or for and", r" \|\| ", " && "),
    Rule("sum for difference", r"(?<=[\w\])]) \+ ", " - "),
    Rule("difference for sum", r"(?<=[\w\])]) - ", " + "),
    Rule("product for quotient", r"(?<=[\w\])]) \* (?=[\w(])", " / "),
    Rule("quotient for product", r"(?<=[\w\])]) / (?=[\w(])", " * "),
    Rule("index off by one", r"(?<=[\w\])]) ([+-]) 1\b", r" \1 2"),
    Rule("constant zero for one", r"= 1;", "= 0;"),
    Rule("constant one for zero", r"= 0;", "= 1;"),
    Rule("smallest for largest", r"std::min\b", "std::max"),
    Rule("largest for smallest", r"std::max\b", "std::min"),
    Rule("accumulation lost", r" \+= ", " = "),
    Rule("accumulator narrowed", r"\bdouble (?=\w+ = 0)", "float "),
    Rule("integers narrowed", r"\bint64_t (?=\w+ = )", "int8_t "),
)


def make_plants(operator: str) -> Iterator[Plant]:
    """All of them, line by line; none in comments. Bundled operators have none made by rule."""
    path = OWN / f"{operator}.cpp"
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    named: Counter[str] = Counter()
    start = 0
    for line in text.splitlines(keepends=True):
        code = line.split("//")[0]
        if not code.lstrip().startswith(("#", "*", "/*", "template")):
            for rule in RULES:
                for match in re.finditer(rule.pattern, code):
                    changed = code[: match.start()] + match.expand(rule.new) + code[match.end() :]
                    name = f"{rule.kind} in `{changed.strip()}`"
                    named[name] += 1
                    yield Plant(
                        operator,
                        name if named[name] == 1 else f"{name} #{named[name]}",
                        rule.kind,
                        path.name,
                        line,
                        changed + line[len(code) :],
                        ("values", "half_precision", "nan", "layout", "gradient", "empty"),
                        nth=text[:start].count(line),
                        is_rule_made=True,
                    )
        start += len(line)
