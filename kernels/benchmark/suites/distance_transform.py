"""Exact Euclidean distances: unsigned, signed, and with the nearest voxel."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from kernels.benchmark.agreement import close
from kernels.benchmark.graphs import composition_entrants
from kernels.benchmark.masks import CONTENTS, make_mask
from kernels.benchmark.ours import our_entrants
from kernels.benchmark.peers.distance import DISTANCE_PEERS
from kernels.benchmark.plan import Plan
from kernels.benchmark.real_masks import SHAPE, real_mask
from kernels.benchmark.scene import Entrant, Inputs, Scene, Suite, Traffic
from kernels.benchmark.work import result_only
from kernels.folder import open_operator
from kernels.operator import Implementation

OPERATOR = "distance_transform"
DISTANCES = Traffic(read=1, written=4)
WITH_NEAREST = Traffic(read=1, written=12)
SPACING = (2.5, 1.0, 0.8)
UNSIGNED, SIGNED, NEAREST = "unsigned", "signed", "with nearest"
OPTIONS: dict[str, dict[str, Any]] = {
    UNSIGNED: {},
    SIGNED: {"signed": True},
    NEAREST: {"return_nearest": True},
}
REAL_BATCH = 4


def scenes(plan: Plan) -> Iterator[Scene]:
    """Small before large, all that is asked of one mask together."""
    for side in plan.volume_sides:
        for content in CONTENTS:
            yield from _volume(side, content, plan)
    for side in plan.image_sides:
        for content in CONTENTS:
            yield Scene(
                OPERATOR,
                UNSIGNED,
                content,
                (side, side),
                partial(_inputs, content, {}),
                _close,
                DISTANCES,
                with_compositions=side <= plan.composition_image_side,
            )
    yield from _real(plan)


def _volume(side: int, content: str, plan: Plan) -> Iterator[Scene]:
    is_reference = side == plan.reference_side
    if plan.is_quick and not is_reference and content != "sparse":
        return
    variants = [UNSIGNED]
    if side <= plan.reference_side and (content == "smooth" or not plan.is_quick):
        variants.append(SIGNED)
    if is_reference and content in (("inverted",) if plan.is_quick else ("sparse", "inverted")):
        variants.append(NEAREST)
    for variant in variants:
        yield Scene(
            OPERATOR,
            variant,
            content,
            (side,) * 3,
            partial(_inputs, content, {"spacing": SPACING, **OPTIONS[variant]}),
            _close,
            WITH_NEAREST if variant == NEAREST else DISTANCES,
            with_compositions=variant == UNSIGNED and side <= plan.composition_volume_side,
            with_graphs=content == "sparse",
            with_memory=variant == UNSIGNED and is_reference and plan.wants_memory_of(content),
        )
    if is_reference and not plan.is_quick:
        yield Scene(
            OPERATOR,
            "unsigned, spacing 1",
            content,
            (side,) * 3,
            partial(_inputs, content, {}),
            _close,
            DISTANCES,
        )


def _real(plan: Plan) -> Iterator[Scene]:
    """Inside the lesions, and to the nearest lesion."""
    contents = ("median",) if plan.is_quick else ("few", "median", "many", "batch")
    for content in contents:
        shape = (REAL_BATCH, 1, *SHAPE) if content == "batch" else SHAPE
        for is_inverted in (False, True):
            yield Scene(
                OPERATOR,
                UNSIGNED,
                f"real, {content}{', inverted' if is_inverted else ''}",
                shape,
                partial(_real_inputs, content, is_inverted),
                _close,
                DISTANCES,
            )


def _inputs(content: str, keywords: dict[str, Any], shape: tuple[int, ...]) -> Inputs:
    return Inputs((make_mask(content, shape),), keywords)


def _real_inputs(content: str, is_inverted: bool, shape: tuple[int, ...]) -> Inputs:
    mask = real_mask(content, shape)
    return Inputs(
        (~mask if is_inverted else mask,), {"spatial_dims": 3} if content == "batch" else {}
    )


def _close(ours: Any, theirs: Any) -> str | None:
    """Of distances alone: which of equally near voxels is the nearest is a matter of taste."""
    mine, other = (part[0] if isinstance(part, tuple) else part for part in (ours, theirs))
    return close(mine, other)


def _entrants(scene: Scene, plan: Plan) -> Iterator[Entrant]:
    yield from our_entrants(_load)
    yield from DISTANCE_PEERS
    yield from composition_entrants(open_operator(OPERATOR), scene, plan, result_only)


def _load() -> Implementation:
    from kernels.distance_transform import distance_transform

    call: Implementation = distance_transform
    return call


SUITE = Suite(OPERATOR, scenes, _entrants)
