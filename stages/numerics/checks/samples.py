"""Which of the promised calls a check repeats: a few of each size, dtype and circumstance."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from stages.numerics.layouts import fitting
from stages.numerics.probe import Probe
from stages.numerics.trial import Target

LEAST_PARALLEL, MOST_PARALLEL = 40_000, 300_000
"""Elements."""


def sample(
    probes: Iterable[Probe], count: int, least: int = 1, most: int = 1_000_000
) -> list[Probe]:
    """Up to `count` probes within the sizes, spread over the sizes, no two alike in all traits.

    Probes of a kind that was not taken yet come before more of the same.
    """
    within = sorted(
        (probe for probe in probes if least <= probe.num_elements <= most),
        key=lambda probe: probe.num_elements,
    )
    taken: list[Probe] = []
    seen: set[tuple[str, str]] = set()
    for probe in within:
        fresh = set(probe.traits.items()) - seen
        if fresh and len(taken) < count:
            taken.append(probe)
            seen |= fresh
    rest = [probe for probe in within if not any(probe is other for other in taken)]
    spare = count - len(taken)
    if spare > 0 and rest:
        step = max(len(rest) // spare, 1)
        taken += rest[step // 2 :: step][:spare]
    return taken


def large(target: Target, count: int) -> list[Probe]:
    """Of another path, of several threads, and still quick: those whose longest axis is shortest,
    since the work of some operators grows with its square."""
    within = [p for p in target.promise.stress if LEAST_PARALLEL <= p.num_elements <= MOST_PARALLEL]
    return sorted(within, key=_longest_axis)[:count]


def _longest_axis(probe: Probe) -> int:
    return max((size for tensor in probe.tensors for size in tensor.shape), default=0)


def with_layouts(
    probes: Iterable[Probe], count: int, least: int = 2, most: int = 5_000
) -> Iterator[Probe]:
    """Some of the calls, one tensor at a time, then all, in every layout that says something."""
    probes = list(probes)
    wide = [probe for probe in probes if _is_wide(probe)]
    chosen = sample(wide, count - count // 3, least=least, most=most)
    chosen += sample(probes, count // 3, least=least, most=most)
    for probe in chosen:
        fits = [set(fitting(tensor)) for tensor in probe.tensors]
        for place, names in enumerate(fits):
            for name in sorted(names):
                yield replace(probe, layouts={place: name}).noting(layout=name)
        for name in sorted(set[str]().union(*fits)) if len(fits) > 1 else ():
            layouts = {place: name for place, names in enumerate(fits) if name in names}
            yield replace(probe, layouts=layouts).noting(layout=name, laid_out="all")


def _is_wide(probe: Probe) -> bool:
    """Whether a tensor has two axes of several elements, so that their order can be changed."""
    return any(sum(size > 1 for size in tensor.shape) > 1 for tensor in probe.tensors)
