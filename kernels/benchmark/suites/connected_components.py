"""Labelling, counting and measuring of components."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from torch import Tensor

from kernels.benchmark.agreement import as_array, same_components
from kernels.benchmark.graphs import composition_entrants
from kernels.benchmark.masks import CONTENTS, make_mask
from kernels.benchmark.ours import our_entrants
from kernels.benchmark.peers.components import COMPONENT_PEERS, NEIGHBOURS
from kernels.benchmark.peers.tables import COUNT_PEERS, TABLE_PEERS
from kernels.benchmark.plan import Plan
from kernels.benchmark.real_masks import SHAPE, real_mask
from kernels.benchmark.scene import Entrant, Inputs, Scene, Suite, Traffic
from kernels.benchmark.work import result_only
from kernels.folder import open_operator
from kernels.operator import Implementation

OPERATOR = "connected_components"
LABELS = Traffic(read=1, written=4)
COUNT, TABLE = "count", "table with 2 sums"
REAL_BATCH = 4


def scenes(plan: Plan) -> Iterator[Scene]:
    """Small before large, all that is asked of one mask together."""
    for side in plan.volume_sides:
        yield from _volumes(side, plan)
    for side in plan.image_sides:
        yield from _images(side, plan)
    contents = ("median",) if plan.is_quick else ("few", "median", "many", "batch")
    for content in contents:
        shape = (REAL_BATCH, 1, *SHAPE) if content == "batch" else SHAPE
        yield Scene(
            OPERATOR,
            "26 neighbours",
            f"real, {content}",
            shape,
            partial(_real_inputs, content),
            same_components,
            LABELS,
        )


def _volumes(side: int, plan: Plan) -> Iterator[Scene]:
    shape = (side,) * 3
    is_reference = side == plan.reference_side
    for content in CONTENTS:
        for connectivity in (3, 2, 1):
            if connectivity < 3 and content == "inverted":
                continue
            if plan.is_quick and not _is_in_quick_run(side, content, connectivity, plan):
                continue
            yield Scene(
                OPERATOR,
                f"{NEIGHBOURS[3, connectivity]} neighbours",
                content,
                shape,
                partial(_inputs, content, connectivity),
                same_components,
                LABELS,
                with_compositions=connectivity == 3 and side <= plan.composition_volume_side,
                with_graphs=content == "sparse",
                with_memory=connectivity == 3 and is_reference and plan.wants_memory_of(content),
            )
        if is_reference and content in (("smooth",) if plan.is_quick else CONTENTS[:3]):
            yield _variant(COUNT, content, shape)
            yield _variant(TABLE, content, shape)


def _is_in_quick_run(side: int, content: str, connectivity: int, plan: Plan) -> bool:
    if side == plan.composition_volume_side:
        return connectivity == 3 and content in ("sparse", "smooth")
    return connectivity == 3 or content == "smooth"


def _images(side: int, plan: Plan) -> Iterator[Scene]:
    for content in CONTENTS:
        for connectivity in (2, 1):
            if connectivity == 1 and (content == "inverted" or plan.is_quick):
                continue
            yield Scene(
                OPERATOR,
                f"{NEIGHBOURS[2, connectivity]} neighbours",
                content,
                (side, side),
                partial(_inputs, content, connectivity),
                same_components,
                LABELS,
                with_compositions=connectivity == 2 and side <= plan.composition_image_side,
            )


def _variant(variant: str, content: str, shape: tuple[int, ...]) -> Scene:
    make, compare, traffic = {
        COUNT: (partial(_inputs, content, 3), _same_count, Traffic(1, 0)),
        TABLE: (partial(_table_inputs, content), _same_table, Traffic(9, 0)),
    }[variant]
    return Scene(OPERATOR, variant, content, shape, make, compare, traffic)


def _inputs(content: str, connectivity: int, shape: tuple[int, ...]) -> Inputs:
    return Inputs((make_mask(content, shape),), {"connectivity": connectivity})


def _real_inputs(content: str, shape: tuple[int, ...]) -> Inputs:
    mask = real_mask(content, shape)
    return Inputs((mask,), {"spatial_dims": 3} if content == "batch" else {})


def _table_inputs(content: str, shape: tuple[int, ...]) -> Inputs:
    mask = make_mask(content, shape)
    return Inputs((mask,), {"values": [mask.float(), mask.float() * 0.5]})


def _entrants(scene: Scene, plan: Plan) -> Iterator[Entrant]:
    if scene.variant == COUNT:
        yield from our_entrants(partial(_load, "component_count"))
        yield from COUNT_PEERS
    elif scene.variant == TABLE:
        yield from our_entrants(partial(_load, "component_table"))
        yield from TABLE_PEERS
    else:
        yield from our_entrants(partial(_load, OPERATOR))
        yield from COMPONENT_PEERS
        yield from composition_entrants(open_operator(OPERATOR), scene, plan, result_only)


def _load(name: str) -> Implementation:
    import kernels.connected_components as operator

    call: Implementation = getattr(operator, name)
    return call


def _same_count(ours: Tensor, theirs: Any) -> str | None:
    return None if int(ours) == int(theirs) else f"{int(theirs)} instead of {int(ours)}"


def _same_table(ours: Any, theirs: Any) -> str | None:
    """Components may come in another order: sorted by voxels and sums, the rows are compared."""
    if not hasattr(ours, "voxels"):
        return None
    mine, other = sorted(as_array(ours.voxels).tolist()), sorted(as_array(theirs[0]).tolist())
    if mine != other:
        return f"{len(other)} components of other sizes instead of {len(mine)}"
    total, other_total = float(ours.sums.sum()), float(theirs[1].sum())
    is_close = abs(total - other_total) <= 1e-9 * abs(total)
    return None if is_close else f"sums {other_total:.6g} instead of {total:.6g}"


SUITE = Suite(OPERATOR, scenes, _entrants)
