"""A person's word against the cheaper way: `approvals.yaml`, watched by stages that it guards."""

import datetime
from collections.abc import Collection
from pathlib import Path

import yaml
from pydantic import ValidationError

from stages.contract.errors import InputError
from stages.contract.frozen import Frozen
from stages.contract.graph import ROUTES, Stage

APPROVALS = Path("approvals.yaml")


class Approval(Frozen):
    """Who lets which verdict of a stage go where, and why."""

    verdict: str
    next: Stage
    by: str
    date: datetime.date
    because: str


def route(
    stage: Stage, verdict: str, proposed: Stage, cheaper: Stage, needing_approval: Collection[str]
) -> tuple[Stage, str]:
    """Where a verdict leads, and what to add to its reason.

    The stage's own approval wins; a verdict that needs one and has none goes the cheaper way.

    Raises:
        InputError: the approval names a stage that may not follow, or is malformed.
    """
    approval = read_approval(stage)
    if approval is not None and approval.verdict == verdict:
        if approval.next not in ROUTES[stage]:
            raise InputError(
                f"{APPROVALS}: {stage}.next must be one of {', '.join(ROUTES[stage])}, "
                f"got {approval.next}"
            )
        return approval.next, f" Approved by {approval.by} on {approval.date}: {approval.because}."
    if verdict in needing_approval and proposed != cheaper:
        return cheaper, (
            f" '{verdict}' needs an approval and has none: the cheaper way, {cheaper}, is taken; "
            f"to go on to {proposed}, add it to {APPROVALS} under {stage} and run again."
        )
    return proposed, ""


def read_approval(stage: Stage) -> Approval | None:
    """The approval for one stage, if there is one."""
    if not APPROVALS.is_file():
        return None
    entries = yaml.safe_load(APPROVALS.read_text("utf-8")) or {}
    entry = entries.get(stage)
    if entry is None:
        return None
    try:
        return Approval.model_validate(entry)
    except ValidationError as error:
        faults = "; ".join(
            f"{stage}.{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()
        )
        raise InputError(
            f"{APPROVALS}: expected {{verdict, next, by, date, because}}; {faults}"
        ) from error
