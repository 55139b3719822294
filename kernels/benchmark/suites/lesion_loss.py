"""Lesion-wise losses, forward and backward."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from kernels.benchmark.agreement import same_loss
from kernels.benchmark.graphs import composition_entrants
from kernels.benchmark.masks import make_lesions
from kernels.benchmark.ours import our_entrants
from kernels.benchmark.peers.losses import LOSS_PEERS
from kernels.benchmark.plan import Plan
from kernels.benchmark.scene import Entrant, Inputs, Scene, Suite, Traffic
from kernels.benchmark.work import with_gradient
from kernels.folder import open_operator
from kernels.operator import Implementation

OPERATOR = "lesion_loss"
BLOB, REGIONAL, GIVEN = "blob", "CC-DiceCE", "CC-DiceCE, regions given"
KEYWORDS = {BLOB: {"kind": "blob"}, REGIONAL: {"kind": "cc_dice_ce"}, GIVEN: {"kind": "cc_dice_ce"}}
TRAFFIC = {
    # Logits and target, forward and backward; the gradient.
    BLOB: Traffic(read=16, written=4),
    REGIONAL: Traffic(read=20, written=8),
    GIVEN: Traffic(read=20, written=4),
}
SHAPES = ((2, 1, 128, 128, 128), (1, 1, 256, 256, 256))
LESION_COUNTS = (5, 50, 200)


def scenes(plan: Plan) -> Iterator[Scene]:
    """Two small samples, then a large one."""
    for shape in SHAPES[:1] if plan.is_quick else SHAPES:
        for num_lesions in LESION_COUNTS:
            for variant in (BLOB,) if plan.is_quick and num_lesions > 5 else KEYWORDS:
                yield Scene(
                    OPERATOR,
                    variant,
                    f"{num_lesions} lesions",
                    shape,
                    partial(_inputs, num_lesions, variant),
                    same_loss,
                    TRAFFIC[variant],
                    with_compositions=not plan.is_quick or num_lesions == 5,
                    with_graphs=num_lesions == 50 and shape[0] == 2,
                    with_memory=num_lesions == 50 and shape == SHAPES[-1],
                )


def _inputs(num_lesions: int, variant: str, shape: tuple[int, ...]) -> Inputs:
    logits, target = make_lesions(shape, num_lesions)
    keywords: dict[str, Any] = dict(KEYWORDS[variant])
    if variant == GIVEN:
        from kernels.lesion_loss.op import voronoi_regions

        keywords["regions"] = voronoi_regions(target)
    return Inputs((logits, target), keywords)


def _entrants(scene: Scene, plan: Plan) -> Iterator[Entrant]:
    yield from our_entrants(_load, with_gradient)
    yield from LOSS_PEERS
    yield from composition_entrants(open_operator(OPERATOR), scene, plan, with_gradient)


def _load() -> Implementation:
    from kernels.lesion_loss import lesion_loss

    call: Implementation = lesion_loss
    return call


SUITE = Suite(OPERATOR, scenes, _entrants)
