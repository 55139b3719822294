"""The kill table: every plant, and the check that found it."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from judging import Job, Outcome
from plant import Equivalent, Plant

Judged = Sequence[tuple[Plant, Outcome]]


def write_table(path: Path, results: Mapping[Job, Outcome], argued: Sequence[Equivalent]) -> None:
    """Totals, plants of the catalogue one by one, those made by rule in sums, arguments."""
    planted = [(job.plant, one) for job, one in results.items() if job.plant is not None]
    judged = [(plant, one) for plant, one in planted if one.result != "does not build"]
    survivors = {one.id for _, one in judged if one.result == "survived"}
    equivalent = [one for one in argued if f"{one.operator}/{one.plant}" in survivors]
    judged = [(plant, _named(one, argued)) for plant, one in judged]
    correct = Counter(one.result for job, one in results.items() if job.plant is None)
    lines = [
        "# Faults planted in correct operators, and the checks that found them",
        "",
        "Written by `make mutation`.",
        "",
        f"- {_totals(judged)}",
        f"- {len(equivalent)} of them argued to be equivalent, "
        f"{len(survivors) - len(equivalent)} not found",
        f"- Correct operators: nothing found in {correct['clean']} of {correct.total()} "
        "full examinations, each with a seed of its own",
        "",
        *_one_by_one([(plant, one) for plant, one in judged if not plant.is_rule_made]),
        "",
        "## Made by rule, at every place where the rule applies",
        "",
        *_in_sums([(plant, one) for plant, one in judged if plant.is_rule_made]),
        "",
        "## Equivalent, by argument",
        "",
        *(f"- {one.operator}, {one.plant}: {one.argument}" for one in equivalent),
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _named(outcome: Outcome, argued: Sequence[Equivalent]) -> Outcome:
    """With "equivalent" in place of a check, where that is argued."""
    is_argued = outcome.id in {f"{one.operator}/{one.plant}" for one in argued}
    return replace(outcome, check="equivalent") if is_argued and not outcome.check else outcome


def _totals(judged: Judged) -> str:
    """ "612 plants of 40 kinds in 6 operators: 600 found; 400 of them made by rule"."""
    kinds = {plant.kind for plant, _ in judged}
    operators = {plant.operator for plant, _ in judged}
    found = sum(one.result == "killed" for _, one in judged)
    by_rule = sum(plant.is_rule_made for plant, _ in judged)
    return (
        f"{len(judged)} plants of {len(kinds)} kinds in {len(operators)} operators: {found} found; "
        f"{by_rule} of them made by rule"
    )


def _one_by_one(judged: Judged) -> Iterator[str]:
    yield "| kind | operator | plant | found by |"
    yield "|---|---|---|---|"
    yield from sorted(
        f"| {plant.kind} | {plant.operator} | {plant.name} | {one.check or one.result} |"
        for plant, one in judged
    )


def _in_sums(judged: Judged) -> Iterator[str]:
    yield "| kind | operator | plants | found by |"
    yield "|---|---|---|---|"
    sums: dict[tuple[str, str], Counter[str]] = {}
    for plant, one in judged:
        sums.setdefault((plant.kind, plant.operator), Counter())[one.check or one.result] += 1
    for (kind, operator), counts in sorted(sums.items()):
        found = ", ".join(f"{check} {count}" for check, count in counts.most_common())
        yield f"| {kind} | {operator} | {counts.total()} | {found} |"
