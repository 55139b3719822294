"""Plant faults in correct operators, and see whether the validator finds every one.

`python tests/mutation`: first each correct operator, in which nothing may be found, then each plant
of the catalogue and those made by rule. Exit status 0: every plant was found, or is argued to be
equivalent, and no correct operator was accused.
"""

import argparse
import sys
from pathlib import Path

from journal import Journal
from judging import Job, Outcome, judge_all
from plant import Plant, read_equivalents, read_plants
from rule_made import make_plants
from subject import SUBJECTS
from table import write_table


def main() -> int:
    """Judge what the arguments name."""
    arguments = _parser().parse_args()
    operators = arguments.only or list(SUBJECTS)
    jobs = _jobs(arguments, operators)
    argued = {f"{one.operator}/{one.plant}" for one in read_equivalents()}
    journal = Journal(arguments.journal)
    outcomes = {job.id: journal.find(job) for job in jobs}
    left = [job for job in jobs if outcomes[job.id] is None]
    done = len(jobs) - len(left)
    for job, new in judge_all(left, arguments.jobs):
        journal.add(job, new)
        outcomes[job.id] = new
        done += 1
        print(f"{done}/{len(jobs)} {_line(new, argued)}", flush=True)
    results = {job: outcome for job in jobs if (outcome := outcomes[job.id]) is not None}
    if arguments.table is not None:
        write_table(arguments.table, results, tuple(read_equivalents()))
    bad = [one for one in results.values() if not one.is_fine(argued)]
    for outcome in bad:
        print(_line(outcome, argued))
    print(f"{len(results) - len(bad)} of {len(results)} as they should be")
    return 1 if bad else 0


def _jobs(arguments: argparse.Namespace, operators: list[str]) -> list[Job]:
    correct = [
        Job(operator, seed=seed, is_quick=arguments.quick)
        for seed in range(arguments.seeds)
        for operator in operators
    ]
    plants: list[Plant] = [plant for name in operators for plant in read_plants(name)]
    if not arguments.catalogue:
        plants += [plant for name in operators for plant in make_plants(name)]
    if arguments.named:
        plants = [plant for plant in plants if plant.name in arguments.named]
    if arguments.sample is not None:
        plants = _evenly(plants, arguments.sample)
    return correct + [Job(plant.operator, plant) for plant in plants]


def _evenly(plants: list[Plant], number: int) -> list[Plant]:
    """So many of them, spread over all."""
    return [plants[place * len(plants) // number] for place in range(min(number, len(plants)))]


def _line(outcome: Outcome, argued: set[str]) -> str:
    result = outcome.result if outcome.is_fine(argued) else outcome.result.upper()
    argument = " (argued to be equivalent)" if outcome.id in argued else ""
    by = f" by {outcome.check}" if outcome.check else ""
    words = f": {outcome.words}" if outcome.words else ""
    return f"{result}{argument} {outcome.id}{by}, {outcome.seconds:g} s{words[:300]}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tests/mutation", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=list(SUBJECTS), metavar="OPERATOR")
    parser.add_argument("--named", nargs="+", metavar="PLANT", help="these plants alone")
    parser.add_argument("--catalogue", action="store_true", help="no plants made by rule")
    parser.add_argument("--sample", type=int, metavar="N", help="about N plants, evenly chosen")
    parser.add_argument("--seeds", type=int, default=0, help="of each correct operator (0: none)")
    parser.add_argument("--quick", action="store_true", help="correct ones without slow checks")
    parser.add_argument("--journal", type=Path, help="a killed run goes on from it")
    parser.add_argument("--table", type=Path, help="the kill table to write")
    parser.add_argument("--jobs", type=int, default=2, help="how many at once")
    return parser


if __name__ == "__main__":
    sys.exit(main())
