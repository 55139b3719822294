"""Which circumstance tells failing trials from passing ones."""

from collections.abc import Sequence

from stages.numerics.trial import Trial


def explain(trials: Sequence[Trial]) -> str:
    """ "fails on 12 of 40 calls: on all with spacing unequal, on none with spacing equal"."""
    failing = [trial for trial in trials if trial.seen.fault is not None]
    passing = [trial for trial in trials if trial.seen.fault is None]
    extent = f"fails on {len(failing)} of {len(trials)} calls"
    if not failing or not passing:
        return extent
    aspects = sorted({aspect for trial in failing for aspect in trial.probe.traits})
    for aspect in aspects:
        bad = {trial.probe.traits.get(aspect) for trial in failing}
        good = {trial.probe.traits.get(aspect) for trial in passing}
        if None in bad or bad & good:
            continue
        words = " or ".join(sorted(map(str, bad)))
        rest = sorted(map(str, good - {None}))
        none = f", on none with {' or '.join(rest[:4])}" if rest else ""
        return f"{extent}: all of those with {aspect} {words}{none}"
    shared = [
        (_share(passing, aspect, failing[0]), aspect)
        for aspect in aspects
        if _share(failing, aspect, failing[0]) == 1.0
    ]
    share, aspect = min(shared, default=(1.0, ""))
    if share == 1.0:
        return extent
    right = sorted(
        {
            trial.probe.traits[aspect]
            for trial in passing
            if aspect in trial.probe.traits
            and trial.probe.traits[aspect] != failing[0].probe.traits[aspect]
        }
    )
    others = f" (right with {aspect} {' or '.join(right[:4])})" if right else ""
    return f"{extent}, only with {aspect} {failing[0].probe.traits[aspect]}{others}"


def _share(trials: Sequence[Trial], aspect: str, like: Trial) -> float:
    """Fraction of the trials whose aspect is that of `like`."""
    wanted = like.probe.traits.get(aspect)
    return sum(trial.probe.traits.get(aspect) == wanted for trial in trials) / len(trials)
