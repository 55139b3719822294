"""Is the operator embedded or refused, and how that is said."""

from collections.abc import Sequence

from stages.contract import Figure, Implementation
from stages.evidence.trial import Trial
from stages.measuring.ratios import is_gain


def find_refusals(trial: Trial, needs_export: bool) -> tuple[str, ...]:
    """What speaks against embedding; nothing does where the gain is certain and the graph whole."""
    refusals = []
    if trial.gain.value is None:
        refusals.append(f"no gain was measured: {trial.gain.reason}")
    elif not is_gain(trial.gain):
        refusals.append(f"the gain, {_say(trial.gain)}, is not certain to be above 1")
    if needs_export and not trial.is_exportable:
        refusals.append("the whole graph does not export with the operator inside")
    if not trial.compiles_fullgraph:
        refusals.append("a graph that calls the operator does not compile whole")
    return tuple(refusals)


def say_why(
    operator: str,
    trial: Trial,
    forecast: Figure,
    refusals: Sequence[str],
    standard: Implementation,
) -> str:
    """The verdict in a sentence, with the gain that was forecast."""
    if refusals:
        return (
            f"{operator} is not embedded: {'; '.join(refusals)}. "
            f"The path goes on with {standard.rung} {standard.name}."
        )
    return (
        f"{operator} is embedded: {trial.embedded_ms.value:,.4g} ms end to end instead of "
        f"{trial.baseline_ms.value:,.4g} ms, a gain of {_say(trial.gain)} against a "
        f"forecast of {_say(forecast)}."
    )


def _say(figure: Figure) -> str:
    if figure.value is None:
        return "unknown"
    if figure.low is None or figure.high is None:
        return f"{figure.value:.3g}"
    return f"{figure.value:.3g} ({figure.low:.3g} to {figure.high:.3g})"
