"""Which of the promised calls a check repeats: a few of each size, dtype and circumstance."""

from collections.abc import Iterable, Iterator

from stages.numerics.probe import Probe
from stages.numerics.trial import Target


def sample(
    probes: Iterable[Probe], count: int, least: int = 1, most: int = 1_000_000
) -> list[Probe]:
    """Up to `count` probes within the sizes, spread over the sizes, no two alike in all traits.

    Probes of a kind that was not taken yet come before more of the same.
    """
    fitting = sorted(
        (probe for probe in probes if least <= probe.num_elements <= most),
        key=lambda probe: probe.num_elements,
    )
    taken: list[Probe] = []
    seen: set[tuple[str, str]] = set()
    for probe in fitting:
        fresh = set(probe.traits.items()) - seen
        if fresh and len(taken) < count:
            taken.append(probe)
            seen |= fresh
    rest = [probe for probe in fitting if not any(probe is other for other in taken)]
    spare = count - len(taken)
    if spare > 0 and rest:
        step = max(len(rest) // spare, 1)
        taken += rest[step // 2 :: step][:spare]
    return taken


def with_layouts(target: Target, count: int, most: int = 5_000) -> Iterator[Probe]:
    """Some of the promised calls, one tensor at a time in every layout that says something."""
    from dataclasses import replace

    from stages.numerics.layouts import fitting

    wide = [probe for probe in target.promise.probes if _is_wide(probe)]
    chosen = sample(wide, count - count // 3, least=2, most=most)
    chosen += sample(target.promise.probes, count // 3, least=2, most=most)
    for probe in chosen:
        for place, tensor in enumerate(probe.tensors):
            for name in fitting(tensor):
                yield replace(probe, layouts={place: name}).noting(layout=name)


def _is_wide(probe: Probe) -> bool:
    """Whether a tensor has two axes of several elements, so that their order can be changed."""
    return any(sum(size > 1 for size in tensor.shape) > 1 for tensor in probe.tensors)
