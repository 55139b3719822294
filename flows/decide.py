"""The decision graph on one screen: each branch reads the `next` of the result before it.

Letters are the guide's; P, the pilot, is ours.
"""

from collections.abc import Callable

from prefect import flow

from flows.open_run import open_run
from stages.contract import DecisionResult, Stage, read

Run = Callable[[Stage], Stage | None]
"""Runs a stage, and returns the stage that its result names."""


def take_path(run: Run) -> None:
    """Run the stages of the path, up to the record."""
    run(Stage.environment)
    run(Stage.ingest_data)  # A: business data
    run(Stage.validate_data)  # A: may it be used? a refusal ends the run
    at = run(Stage.check_support)  # B: are standard operators enough?
    if at is Stage.pilot_accuracy:
        at = run(at)  # P: accuracy is claimed: is it lifted? no -> C
    if at is Stage.build_operator:
        at = run(at)  # B no -> D: does it compile? no -> C
    if at is Stage.validate_numerics:
        at = run(at)  # D: is it right? no -> C
    if at is Stage.embed_operator:
        at = run(at)  # D -> E: in the graph, is the gain real? no -> C
    if at is Stage.probe_budget:
        at = run(at)  # C, E -> G: memory or time over budget?
    if at is Stage.probe_scaling:
        at = run(at)  # G yes: does distribution pay? impossible -> record
    if at is Stage.train_single:
        at = run(at)  # C -> F, or G no: one machine
    if at is Stage.train_distributed:
        at = run(at)  # G yes -> H
    if at is Stage.produce_model:
        run(at)  # F, H -> I: model produced


@flow(name="decide", flow_run_name="decide")
def decide(workspace: str = ".", fresh: bool = False) -> DecisionResult:
    """Take a workspace's data through the graph, to a registered model and a decision record."""
    with open_run(workspace, fresh) as run:
        take_path(run)
        run.settle_not_taken()  # DVC writes the stages that were passed by
        run(Stage.record_decision)
        return read(Stage.record_decision, DecisionResult)
