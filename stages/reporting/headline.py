"""The verdict in one sentence."""

from stages.contract import ModelVerdict, PilotVerdict, Rung, ScalingVerdict, SupportVerdict
from stages.reporting.evidence import Evidence
from stages.reporting.wording import say


def write_headline(evidence: Evidence) -> str:
    """One sentence; before it, where nobody valued the gain, what it would have to be worth."""
    parts = (_about_operator(evidence), _about_training(evidence), _about_model(evidence))
    verdict = "; ".join(part for part in parts if part) + "."
    economics = evidence.support.economics
    is_valued = economics.benefit.is_known
    return verdict if is_valued else f"{economics.sentence} {verdict}"


def _about_operator(evidence: Evidence) -> str:
    support, name = evidence.support, evidence.support.operator
    fallback = _name_implementation(evidence)
    if evidence.is_custom:
        gain = evidence.embed.realised_gain if evidence.embed else support.forecast_gain
        return f"Build {name}: it makes the whole {say(gain, '×')} as fast"
    if evidence.was_refused:
        return f"Do not use the custom {name}: {_refused_by(evidence)}; {fallback} carries on"
    if evidence.pilot is not None:
        metric, lift = evidence.pilot.metric, say(evidence.pilot.lift)
        if evidence.pilot.verdict is PilotVerdict.lifts:
            return f"Do not build {name}: {fallback} lifts {metric} by {lift} without a kernel"
        found = "no lift" if evidence.pilot.verdict is PilotVerdict.no_lift else "no clear lift"
        return f"Do not build {name}: the pilot shows {found} in {metric}, {lift}"
    against = (
        f"{say(support.baseline_ms, 'ms', with_interval=False)} end to end"
        if support.target_ms.value is None
        else f"{say(support.baseline_ms, 'ms', with_interval=False)} end to end of "
        f"{say(support.target_ms, 'ms', with_interval=False)}"
    )
    told = {
        SupportVerdict.standard: f"Do not build {name}: {fallback} is enough, {against}",
        SupportVerdict.compiled: f"Do not build {name}: {fallback} is enough, {against}",
        SupportVerdict.library: f"Do not build {name}: {fallback} does the job, {against}",
        SupportVerdict.not_worth_it: f"Do not build {name}: not worth it, at most "
        f"{say(support.ceiling, '×')} end to end",
        SupportVerdict.be_careful: f"Be careful with {name}: no kernel yet, {fallback} carries on",
        SupportVerdict.inconclusive: f"Cannot tell yet about {name}: {fallback} carries on",
        SupportVerdict.build: f"{name} is worth building, yet was not built: {fallback} carries on",
    }
    return told[support.verdict]


def _refused_by(evidence: Evidence) -> str:
    if evidence.embed is not None:
        return f"embedding refused it ({_clause(evidence.embed.reason)})"
    if evidence.numerics is not None:
        return f"its numerics were refused ({_clause(evidence.numerics.reason)})"
    assert evidence.build is not None
    return f"it does not compile here ({_clause(evidence.build.reason)})"


def _clause(reason: str) -> str:
    return reason.splitlines()[0].rstrip(". ")


def _name_implementation(evidence: Evidence) -> str:
    chosen = evidence.implementation
    named = {
        Rung.none: "doing without it",
        Rung.standard: f"standard operators ({chosen.name})",
        Rung.compiled: f"standard operators, compiled ({chosen.name})",
        Rung.library: f"the library {chosen.name}",
        Rung.custom: chosen.name,
    }
    return named[chosen.rung]


def _about_training(evidence: Evidence) -> str:
    scaling = evidence.scaling
    if scaling is not None and scaling.verdict is ScalingVerdict.impossible:
        return "the job fits no device that was stated, so no model was trained"
    training = evidence.training
    if training is None:
        return "nothing was trained"
    if training.num_workers > 1:
        return f"train on {training.num_workers} workers"
    asked = ", distribution does not pay" if scaling is not None else ""
    return f"train on one machine{asked}"


def _about_model(evidence: Evidence) -> str:
    model = evidence.model
    if model is None:
        return ""
    if model.verdict is ModelVerdict.met:
        return "every target is met"
    missed = [target.name for target in model.targets if target.is_met is False]
    unclear = [target.name for target in model.targets if target.is_met is None]
    parts = [f"missed: {', '.join(missed)}"] if missed else []
    parts += [f"not known: {', '.join(unclear)}"] if unclear else []
    return "targets " + ", ".join(parts)
