"""What the operators are held to: ratios to the fastest peer of the same scene and threads."""

from dataclasses import dataclass

from kernels.benchmark.scene import ALLOCATING, REUSING

FASTEST = "the fastest peer"
SECOND_THREAD = "ours on one thread"


@dataclass(frozen=True)
class Target:
    """A bound on how many times as long as ours something takes."""

    operator: str
    what: str
    variants: tuple[str, ...]
    contents: tuple[str, ...]
    num_axes: int
    """Of the input; batch and channel included."""
    at_least: float | None = None
    at_most: float | None = None
    """Of ours over the other: how many times as long as it ours takes."""
    output: str = ALLOCATING
    against: str = FASTEST
    """`FASTEST`, `SECOND_THREAD`, or an entrant's name."""
    sides: tuple[int, ...] = ()
    """Last sides of the inputs that it speaks of; all without it."""
    num_threads: int = 1


@dataclass(frozen=True)
class Spread:
    """A bound on how much longer ours takes on one content than on another."""

    operator: str
    what: str
    variant: str
    from_content: str
    to_content: str
    at_most: float


@dataclass(frozen=True)
class MemoryTarget:
    """A bound on bytes a voxel beyond input and result."""

    operator: str
    what: str
    at_most: float


MAX_BUILD_S = 10.0
LEAST_SIDE = 128
"""Targets speak of no smaller inputs; on those, calls cost more than voxels."""

_COMPONENTS, _DISTANCE, _LOSS = "connected_components", "distance_transform", "lesion_loss"
_YARDSTICK = "MONAI DiceCE"


def _components(
    what: str,
    variant: str,
    bounds: dict[str, float],
    output: str = REUSING,
) -> tuple[Target, ...]:
    num_axes = 2 if variant == "8 neighbours" else 3
    return tuple(
        Target(
            _COMPONENTS, f"{what}, {content}", (variant,), (content,), num_axes, bound, None, output
        )
        for content, bound in bounds.items()
    )


def _distances(
    what: str, variants: tuple[str, ...], bounds: dict[str, float], num_axes: int = 3
) -> tuple[Target, ...]:
    return tuple(
        Target(_DISTANCE, f"{what}, {content}", variants, (content,), num_axes, bound)
        for content, bound in bounds.items()
    )


_LESIONS = ("5 lesions", "50 lesions", "200 lesions")
_EVERY = ("sparse", "smooth", "noise", "inverted")

TARGETS: tuple[Target, ...] = (
    *_components(
        "26 neighbours, out=", "26 neighbours", {"sparse": 2.5, "smooth": 2.5, "noise": 5.0}
    ),
    *_components(
        "8 neighbours, out=", "8 neighbours", {"sparse": 2.5, "smooth": 2.5, "noise": 2.5}
    ),
    *_components(
        "26 neighbours, allocating",
        "26 neighbours",
        {"sparse": 1.8, "smooth": 1.8, "noise": 1.8},
        ALLOCATING,
    ),
    *_components(
        "8 neighbours, allocating",
        "8 neighbours",
        {"sparse": 1.8, "smooth": 1.8, "noise": 1.8},
        ALLOCATING,
    ),
    *_components(
        "6 neighbours, out=", "6 neighbours", {"sparse": 2.2, "smooth": 3.0, "noise": 2.5}
    ),
    *_components(
        "18 neighbours, out=", "18 neighbours", {"sparse": 2.0, "smooth": 2.0, "noise": 1.5}
    ),
    *_distances(
        "unsigned", ("unsigned",), {"sparse": 8.0, "smooth": 6.0, "noise": 6.0, "inverted": 2.5}
    ),
    *_distances("2-D", ("unsigned",), dict.fromkeys(_EVERY, 2.0), num_axes=2),
    *_distances("signed", ("signed",), dict.fromkeys(_EVERY, 4.0)),
    Target(_LOSS, "blob loss", ("blob",), _LESIONS, 5, at_most=0.25, against=_YARDSTICK),
    Target(_LOSS, "blob loss", ("blob",), _LESIONS, 5, at_least=8.0, against="index_add_"),
    Target(_LOSS, "CC-DiceCE", ("CC-DiceCE",), _LESIONS, 5, at_most=1.5, against=_YARDSTICK),
    Target(_LOSS, "CC-DiceCE", ("CC-DiceCE",), _LESIONS, 5, at_least=8.0),
    *(
        Target(
            operator,
            "two threads",
            variants,
            contents,
            num_axes,
            at_least=1.7,
            against=SECOND_THREAD,
            output=output,
            sides=(256,),
            num_threads=2,
        )
        for operator, variants, contents, num_axes, output in (
            (_COMPONENTS, ("26 neighbours",), _EVERY, 3, REUSING),
            (_DISTANCE, ("unsigned",), _EVERY, 3, REUSING),
            (_LOSS, ("blob", "CC-DiceCE"), _LESIONS, 5, ALLOCATING),
        )
    ),
)
SPREADS = (Spread(_LOSS, "blob loss, 5 to 200 lesions", "blob", "5 lesions", "200 lesions", 1.2),)
MEMORY_TARGETS = (
    MemoryTarget(_COMPONENTS, "memory beyond the result, bytes a voxel", 0.5),
    MemoryTarget(_DISTANCE, "memory beyond the result, bytes a voxel", 5.0),
)
