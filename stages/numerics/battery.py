"""Put every check to an operator, and report what each found."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from stages.numerics.apart import brief, try_all, try_one
from stages.numerics.as_python import as_python
from stages.numerics.explain import explain
from stages.numerics.shrink import shrink
from stages.numerics.trial import Answer, Check, Target, Trial

BROKE = "the check itself broke, which says nothing about the operator"
SHRINK_LIMIT_S = 8.0
SHRINK_TRIAL_LIMIT_S = 5.0
LATER_SHRINK_LIMIT_S = 2.0
"""Once one fault has its smallest call: the others are most likely the same."""


def examine(
    target: Target, checks: Sequence[Check], check_limit_s: float = 60.0
) -> Iterator[Answer]:
    """The answers, check by check; a check that breaks has one that says so."""
    shrink_limit_s = SHRINK_LIMIT_S
    for check in checks:
        began = time.monotonic()
        try:
            answer = _ask(check, target, check_limit_s, shrink_limit_s)
        except Exception as error:  # ours: the other checks are to be put all the same
            answer = Answer(check.name, check.question, 0, f"{BROKE}: {brief(error)}")
        if not answer.has_passed:
            shrink_limit_s = LATER_SHRINK_LIMIT_S
        yield replace(answer, seconds=time.monotonic() - began)


def _ask(check: Check, target: Target, limit_s: float, shrink_limit_s: float) -> Answer:
    reason = check.unasked(target)
    if reason is not None:
        return Answer(check.name, f"not asked: {reason}", 0)
    try:
        probes = sorted(check.probes(target), key=lambda probe: probe.num_elements)
    except Exception as error:  # the cases of a foreign folder run here
        return Answer(check.name, check.question, 0, f"no probes could be made: {error!r}"[:300])
    trials = list(try_all(check, target, probes, limit_s))
    errors = [trial.seen.error for trial in trials if trial.seen.error is not None]
    answer = Answer(
        check.name,
        check.question,
        len(trials),
        largest_error=max(errors) if errors else None,
        growth=tuple(_growth(trials)),
        notes=() if len(trials) == len(probes) else (f"{len(trials)} of {len(probes)} calls made",),
    )
    failing = [trial for trial in trials if trial.seen.fault is not None]
    if not failing:
        return answer
    found, extent, example = failing[0], f"fails on {len(failing)} of {len(trials)} calls", None
    notes = answer.notes
    try:
        found = _smallest(check, target, failing[0], shrink_limit_s)
        extent = explain(trials)
        example = as_python(found.probe, target.name)
    except Exception as error:  # the fault stands, though the telling of it broke
        notes = (*notes, f"the smallest call could not be told: {brief(error)}")
    meaning = f", {check.death}" if found.is_death and check.death else ""
    fault = f"{found.seen.fault}{meaning} [{describe(found)}]; {extent}"
    return replace(answer, fault=fault, counter_example=example, notes=notes)


def _smallest(check: Check, target: Target, trial: Trial, shrink_limit_s: float) -> Trial:
    """Shrunk, and seen once more, so that the words are those of the smallest call."""
    if not check.can_shrink:
        return trial
    hurried = replace(check, trial_limit_s=min(check.trial_limit_s, SHRINK_TRIAL_LIMIT_S))
    kept = trial

    def is_failing(probe: object) -> bool:
        nonlocal kept
        found = try_one(hurried, target, probe)  # type: ignore[arg-type]
        if found.seen.fault is None or _kind(found) != _kind(trial):
            return False
        kept = found
        return True

    shrink(trial.probe, is_failing, shrink_limit_s)
    return kept


def _growth(trials: Sequence[Trial]) -> Iterator[tuple[int, float, float]]:
    for trial in trials:
        if trial.seen.error is not None and trial.seen.envelope is not None:
            yield trial.probe.num_elements, trial.seen.error, trial.seen.envelope


def _kind(trial: Trial) -> str:
    """A crash must not shrink into a refusal, nor a wrong value into a crash."""
    if trial.is_death:
        return "died"
    return "raised" if (trial.seen.fault or "").startswith("raised") else "wrong"


def describe(trial: Trial) -> str:
    """Shapes, dtypes and layouts on one line."""
    shapes = [
        f"{tuple(tensor.shape)} {str(tensor.dtype).removeprefix('torch.')}"
        for tensor in trial.probe.tensors
    ]
    return ", ".join(dict.fromkeys((*shapes, *trial.probe.layouts.values())))
