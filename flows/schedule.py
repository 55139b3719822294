"""Serve a deployment of the decision from here; runs start by a cron line, one at a time."""

from pathlib import Path

from prefect.client.schemas.objects import ConcurrencyLimitConfig, ConcurrencyLimitStrategy
from prefect.client.schemas.schedules import CronSchedule
from prefect.schedules import Cron
from rich.console import Console

from flows.decide import decide
from flows.prefect_api import prefect_api
from stages.contract import InputError


def serve_schedule(workspace: Path, cron: str, timezone: str, console: Console) -> None:
    """Serve until interrupted.

    A run that falls due while another works is cancelled: the next one comes. A local time that a
    change of the clocks repeats fires once; one that it leaves out fires as Prefect has it.
    """
    name = deployment_name(workspace)
    with prefect_api(workspace, preferred_port=4200) as api:
        console.print(f"serving  decide/{name}, '{cron}' {timezone}, until Ctrl-C", highlight=False)
        console.print(f"server   {api}", highlight=False)
        decide.serve(
            name=name,
            schedule=Cron(cron, timezone=timezone),
            parameters={"workspace": str(workspace)},
            global_limit=ConcurrencyLimitConfig(
                limit=1, collision_strategy=ConcurrencyLimitStrategy.CANCEL_NEW
            ),
            limit=1,
            print_starting_message=False,
        )


def check_schedule(cron: str, timezone: str) -> None:
    """Refuse what would never fire.

    Raises:
        InputError: the cron line or the time zone is malformed.
    """
    try:
        CronSchedule(cron=cron, timezone=timezone)
    except ValueError as error:
        raise InputError(
            f"schedule: expected a cron line of five fields, such as '0 2 * * 1-5', and an IANA "
            f"time zone, such as Europe/Zurich; got {cron!r} and {timezone!r}"
        ) from error


def deployment_name(workspace: Path) -> str:
    """One deployment for each workspace."""
    return f"breakeven {workspace.name}"
