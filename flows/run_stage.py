"""Run one stage: skip it where DVC finds it unchanged, else DVC executes or restores it."""

from collections.abc import Callable, Sequence
from itertools import takewhile
from pathlib import Path

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.logging import get_run_logger

from flows.collect import Collection, How
from flows.dvc import repro, stale_stages
from flows.explain import explain
from flows.failures import DataRefusedError, StageFailedError
from flows.screen import Screen
from flows.watch import CURVES, CurveTail
from stages.contract import Stage, executed_mark, folder, load_parameters, read_raw


class StageRunner:
    """Runs a stage when called with one, as a Prefect task of its name.

    Stages that the path jumps over are settled on the way: DVC has each write that it was not
    taken before a stage that reads this runs.
    """

    def __init__(self, collection: Collection, screen: Screen, fresh: bool) -> None:
        self._collection, self._screen, self._fresh = collection, screen, fresh
        self._workspace = Path.cwd()
        self._time_limit_s = load_parameters().infrastructure.stage_time_limit_s
        self._done: dict[Stage, How] = {}
        self._stale: frozenset[Stage] | None = None
        """What DVC found stale; None where something was run since, so that only DVC can tell."""

    @property
    def done(self) -> dict[Stage, How]:
        """How each stage so far came by its result."""
        return dict(self._done)

    def __call__(self, stage: Stage) -> Stage | None:
        """Run a stage.

        Returns:
            The stage that its result names as the next.

        Raises:
            StageFailedError: it crashed, hung, or refused its input.
        """
        self._settle(list(takewhile(lambda before: before is not stage, Stage)))

        @task(name=str(stage), task_run_name=str(stage), cache_policy=NO_CACHE)
        def run_one() -> Stage | None:
            return self._run(stage)

        return run_one()

    def settle_not_taken(self) -> None:
        """Have DVC write the results of all stages that the path has passed by."""
        self._settle([stage for stage in Stage if stage is not Stage.record_decision])

    def _run(self, stage: Stage) -> Stage | None:
        self._screen.started(stage)
        self._collection.begin(stage)
        tail, is_seen = CurveTail(folder(stage) / CURVES), False

        def forward() -> None:
            nonlocal is_seen
            rows = list(tail.new_rows())
            if rows:
                is_seen = True
                self._collection.curves(stage, rows)

        try:
            how = self._reproduce([stage], forward)[stage]
            _refuse_unaccepted(stage)
        except StageFailedError as failure:
            get_run_logger().error(str(failure))
            self._collection.fail(stage, str(failure))
            self._screen.ended(stage, "failed", "")
            raise
        self._collection.finish(stage, how, curves_are_in=is_seen)
        self._screen.ended(stage, how, _words(stage))
        self._done[stage] = how
        if stage is Stage.environment and not self._fresh:
            self._stale = stale_stages(self._workspace)
        following = read_raw(stage)["next"]
        return None if following is None else Stage(following)

    def _settle(self, stages: Sequence[Stage]) -> None:
        passed_by = [stage for stage in stages if stage not in self._done]
        if not passed_by:
            return
        self._done |= self._reproduce(passed_by, lambda: None)
        for stage in passed_by:
            self._collection.begin(stage)
            self._collection.finish(stage, self._done[stage], curves_are_in=False)
            self._screen.ended(stage, "passed by", "")

    def _reproduce(self, stages: Sequence[Stage], on_tick: Callable[[], None]) -> dict[Stage, How]:
        """Bring stages up to date; whether DVC executed or restored each is told by its mark."""
        if self._stale is not None and not self._stale.intersection(stages):
            return dict.fromkeys(stages, "cached")
        self._stale = None
        logger = get_run_logger()

        def on_line(line: str) -> None:
            logger.info(line)
            self._screen.line(line)

        marks = {stage: _mark_time(stage) for stage in stages}
        ended = repro(
            self._workspace,
            stages,
            fresh=self._fresh,
            on_line=on_line,
            on_tick=on_tick,
            time_limit_s=self._time_limit_s,
        )
        if ended.timed_out or ended.status != 0:
            raise explain(stages, ended, self._time_limit_s)
        return {
            stage: "cached" if _mark_time(stage) == marks[stage] else "executed" for stage in stages
        }


def _mark_time(stage: Stage) -> int | None:
    try:
        return executed_mark(stage).stat().st_mtime_ns
    except FileNotFoundError:
        return None


def _refuse_unaccepted(stage: Stage) -> None:
    result = read_raw(stage)
    if result.get("is_accepted") is False:
        raise DataRefusedError(stage, f"{stage}: {result['reason']}")


def _words(stage: Stage) -> str:
    result = read_raw(stage)
    verdict = result.get("verdict")
    return f"{verdict}: {result['reason']}" if verdict else str(result["reason"])
