"""Measure one scene: prepare everyone, compare with ours, take turns, summarise."""

import time
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernels.benchmark.contention import Contention
from kernels.benchmark.forecast import Forecast
from kernels.benchmark.interleaving import Runner, interleave, ratio
from kernels.benchmark.interval import Estimate
from kernels.benchmark.memory import extra_bytes_per_voxel
from kernels.benchmark.plan import Plan
from kernels.benchmark.results import Bandwidth, Row, SceneResult, Status, Times
from kernels.benchmark.scene import (
    ALLOCATING,
    Call,
    Entrant,
    Inputs,
    NotApplicableError,
    Scene,
    Suite,
)
from kernels.benchmark.threads import use_threads
from kernels.benchmark.time_limit import TookTooLong, within

Key = tuple[str, int]
"""An entrant's key and a number of threads."""


@dataclass
class _Starter:
    """An entrant that has been looked at, with its call where it can be timed."""

    entrant: Entrant
    status: Status
    note: str = ""
    call: Call | None = None
    first_s: float = 0.0


def run_scene(
    suite: Suite, scene: Scene, plan: Plan, forecast: Forecast, bandwidth: Bandwidth
) -> SceneResult:
    """Measure one scene.

    Raises:
        FileNotFoundError, ImportError: the input is not at hand.
    """
    inputs = scene.make(scene.shape)
    starters = _prepare_all(suite.entrants(scene, plan), scene, inputs, plan, forecast)
    runners = _runners(starters, plan)
    ours = [
        (one.entrant.key, count)
        for one in starters
        for count in plan.thread_counts
        if one.entrant.role == "ours" and one.call is not None
    ]
    with Contention() as contention:
        interleave(runners, ours, plan.scene_limit_s)
    use_threads(max(plan.thread_counts))
    rows = [
        row for starter in starters for row in _rows_of(starter, scene, runners, ours, bandwidth)
    ]
    if scene.with_memory:
        rows = [_with_memory(row, scene, starters, plan) for row in rows]
    return SceneResult(
        scene.operator,
        scene.variant,
        scene.content,
        scene.shape,
        tuple(rows),
        _second_thread_gain(runners, starters),
        contention.by_others,
    )


def _prepare_all(
    entrants: Iterable[Entrant], scene: Scene, inputs: Inputs, plan: Plan, forecast: Forecast
) -> list[_Starter]:
    """Ours come first; what they return is the truth for all others."""
    use_threads(1)
    starters: list[_Starter] = []
    truth: list[Any] = []
    for entrant in entrants:
        starter = _prepare(entrant, scene, inputs, plan, forecast)
        if starter.call is not None:
            _call_first(starter, scene, truth, plan, forecast)
        starters.append(starter)
    return starters


def _prepare(
    entrant: Entrant, scene: Scene, inputs: Inputs, plan: Plan, forecast: Forecast
) -> _Starter:
    guess = forecast.seconds(scene, entrant)
    if entrant.role != "ours" and guess is not None and guess > plan.longest_call_s:
        return _Starter(entrant, "skipped", f"about {guess:.0f} s a call by a smaller input")
    try:
        return _Starter(entrant, "timed", call=entrant.prepare(inputs))
    except ImportError:
        return _Starter(entrant, "absent", f"pip install {entrant.distribution}")
    except NotApplicableError as reason:
        return _Starter(entrant, "skipped", str(reason))
    except TookTooLong as late:
        return _Starter(entrant, "failed", f"preparing took {late}")
    except Exception as error:  # a foreign implementation or a compiler: a finding, not our end
        return _Starter(entrant, "failed", _short(error))


def _call_first(
    starter: _Starter, scene: Scene, truth: list[Any], plan: Plan, forecast: Forecast
) -> None:
    """Call once: what comes out is compared with ours, and how long it took is noted."""
    assert starter.call is not None
    began = time.process_time()
    try:
        with _limit(starter.entrant, plan):
            result = starter.call()
    except TookTooLong as late:
        forecast.note(scene, starter.entrant, plan.longest_call_s)
        starter.status, starter.note, starter.call = "skipped", str(late), None
        return
    except Exception as error:
        starter.status, starter.note, starter.call = "failed", _short(error), None
        return
    starter.first_s = time.process_time() - began
    forecast.note(scene, starter.entrant, starter.first_s)
    if starter.entrant.role == "yardstick":
        starter.note = "another function"
    elif not truth:
        truth.append(result)
    else:
        difference = scene.compare(truth[0], result)
        if difference is not None:
            starter.status, starter.note = "wrong", difference


def _limit(entrant: Entrant, plan: Plan) -> AbstractContextManager[None]:
    """Ours is called however long it takes: without it there is nothing to compare with."""
    return nullcontext() if entrant.role == "ours" else within(plan.longest_call_s)


def _runners(starters: Sequence[_Starter], plan: Plan) -> dict[Key, Runner]:
    return {
        (one.entrant.key, count): Runner(one.call, count, one.first_s)
        for one in starters
        for count in (plan.thread_counts if one.entrant.uses_threads else (1,))
        if one.call is not None
    }


def _rows_of(
    starter: _Starter,
    scene: Scene,
    runners: dict[Key, Runner],
    ours: Sequence[Key],
    bandwidth: Bandwidth,
) -> list[Row]:
    """One row for each number of threads; one without figures for what was not timed."""
    entrant = starter.entrant
    empty = Row(
        entrant.name, entrant.role, entrant.form, entrant.output, 1, starter.status, starter.note
    )
    timed = {count: runner for (key, count), runner in runners.items() if key == entrant.key}
    if not timed:
        return [empty]
    rows = []
    for count, runner in timed.items():
        samples = list(runner.samples.values())
        cpu_ms = _times([sample.cpu_ms for sample in samples])
        wall_ms = _times([sample.wall_ms for sample in samples])
        ns = (cpu_ms if count == 1 else wall_ms).minimum * 1e6 / scene.num_voxels
        ratios = {
            f"{_output_of(key)}@{our_count}": found
            for key, our_count in ours
            if our_count == count or (our_count > count and not entrant.uses_threads)
            if (found := ratio(runner, runners[key, our_count])) is not None
        }
        rows.append(
            replace(
                empty,
                num_threads=count,
                num_samples=len(samples),
                cpu_ms=cpu_ms,
                wall_ms=wall_ms,
                ns_per_voxel=ns,
                bandwidth_share=_floor_ns(scene, bandwidth, count) / ns,
                ratios=ratios if entrant.role != "ours" else {},
            )
        )
    return rows


def _with_memory(row: Row, scene: Scene, starters: Sequence[_Starter], plan: Plan) -> Row:
    """Of everything eager on one thread; a compiler's own memory would be no fair part of it."""
    if row.ns_per_voxel is None or row.num_threads > 1 or row.form != "eager":
        return row
    entrant = next(
        one.entrant
        for one in starters
        if (one.entrant.name, one.entrant.output, one.entrant.form)
        == (row.entrant, row.output, row.form)
    )
    return replace(row, extra_bytes_per_voxel=extra_bytes_per_voxel(scene, entrant, plan))


def _second_thread_gain(
    runners: dict[Key, Runner], starters: Sequence[_Starter]
) -> dict[str, Estimate]:
    gains = {}
    for starter in starters:
        key = starter.entrant.key
        if starter.entrant.role == "ours" and (key, 2) in runners:
            gain = ratio(runners[key, 1], runners[key, 2])
            if gain is not None:
                gains[starter.entrant.output] = gain
    return gains


def _floor_ns(scene: Scene, bandwidth: Bandwidth, count: int) -> float:
    """ns a voxel that memory alone needs."""
    read, written = bandwidth.read[str(count)], bandwidth.written[str(count)]
    return scene.traffic.read * read + scene.traffic.written * written


def _output_of(our_key: str) -> str:
    return our_key.partition(" ")[2] or ALLOCATING


def _times(samples_ms: Sequence[float]) -> Times:
    low, first, middle, third = np.percentile(samples_ms, [0, 25, 50, 75])
    return Times(float(low), float(first), float(middle), float(third))


def _short(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
