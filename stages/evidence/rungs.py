"""Examine every standard implementation: compositions as deployed, compiled ones, libraries."""

from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from kernels.operator import Composition, Library
from stages.contract import Rung, unknown
from stages.evidence.entrant import Entrant, not_called
from stages.evidence.yardstick import Yardstick
from stages.measuring.attempts import Attempt, attempt, attempt_compiled
from stages.measuring.capture import Call
from stages.numerics.exporting import Outcome, export_call, summarise
from stages.numerics.standing import Standing

COMPILING_LIMIT_S = 60.0
"""Time for compiling all compositions; those left over are noted as not tried."""


def examine_all(yardstick: Yardstick, needs_export: bool) -> list[Entrant]:
    """Every rung below the custom one, each in the order of the operator's folder."""
    operator = yardstick.operator
    plain = [examine_composition(c, yardstick, needs_export) for c in operator.compositions]
    return [
        *plain,
        *examine_compiled(plain, yardstick),
        *(examine_library(library, yardstick) for library in operator.libraries),
    ]


def examine_composition(
    composition: Composition, yardstick: Yardstick, needs_export: bool
) -> Entrant:
    """A composition; called as the exported graph runs it where that is how it is deployed."""
    standing, note = yardstick.examine(composition.call), composition.summary
    if needs_export and standing.export.passed:
        note += "; timed as the exported graph runs it"
        tried = _attempt_exported(composition.call, yardstick.calls)
    else:
        tried = yardstick.attempt(composition.call)
    standing = yardstick.confirm(standing, tried)
    return Entrant(composition.name, Rung.standard, standing, tried, note)


def examine_compiled(plain: Sequence[Entrant], yardstick: Yardstick) -> list[Entrant]:
    """The right compositions, compiled for the job's inputs, best first, as long as time is
    left."""
    entrants, left_s = [], COMPILING_LIMIT_S
    for composition, entrant in zip(yardstick.operator.compositions, plain, strict=True):
        standing, note = entrant.standing, None
        if not standing.is_right:
            tried = not_called("the composition itself is not right")
        elif left_s <= 0:
            tried = not_called(f"not compiled: {COMPILING_LIMIT_S:g} s were used up")
        elif not (traced := yardstick.trace(composition.call)).passed:
            tried = not_called(traced.reason)
        else:
            tried, compile_s = attempt_compiled(composition.call, yardstick.calls, left_s)
            left_s -= compile_s
            note = f"compiled in {compile_s:.1f} s"
            standing = yardstick.confirm(standing, tried)
        entrants.append(Entrant(composition.name, Rung.compiled, standing, tried, note))
    return entrants


def examine_library(library: Library, yardstick: Yardstick) -> Entrant:
    """A library, which may be absent."""
    try:
        adapter = library.load()
    except ImportError:
        reason = f"{library.distribution} is not installed"
        standing = Standing(None, unknown(reason), reason, None, Outcome(False, reason))
        return Entrant(library.name, Rung.library, standing, not_called(reason), library.licence)
    note = f"{library.licence}, {_version(library.distribution)}"
    tried = yardstick.attempt(adapter)
    standing = yardstick.confirm(yardstick.examine(adapter), tried)
    return Entrant(library.name, Rung.library, standing, tried, note)


def _attempt_exported(implementation: Callable[..., Any], calls: Sequence[Call]) -> Attempt:
    """As the deployment runs it: exported for the real inputs, saved, loaded."""
    try:
        exported = [export_call(implementation, (call.args, call.kwargs)) for call in calls]
    except Exception as error:  # whatever a pass of the exporter raises
        return not_called(f"not exported at the real size: {summarise(error)}")
    return attempt(exported, calls)


def _version(distribution: str) -> str:
    try:
        return f"{distribution} {version(distribution)}"
    except PackageNotFoundError:
        return f"{distribution} of unknown version"
