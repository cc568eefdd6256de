"""`setpoint start`: starts parts of an app that were stopped or have exited."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from setpoint.cli.app.part_control import (
    ControlOptions,
    Deed,
    has_stopped_for_good,
    is_over,
    is_up,
    refuse_stopped,
    steer,
    steering_options,
)
from setpoint.cli.support.connection import Server, run
from setpoint.cli.support.errors import USAGE, Failure

if TYPE_CHECKING:
    from setpoint.cli.workloads.inventory import Workload
    from setpoint.client.client import Client


@click.command()
@steering_options
def start(names: tuple[str, ...], how: ControlOptions, server: Server) -> None:
    """Start parts of the app that were stopped or have exited.

    Each part starts after its dependencies. api.2 names a single replica of api. A task runs once, or resumes its
    schedule; use `setpoint run` to see its output. Exits with code 1 if a part fails permanently, and with code 4 if a
    part is not ready in time.

    \b
      setpoint start db
      setpoint start --all
    """
    run(steer(server, names, how, START))


def _idle(workload: "Workload", workloads: "Sequence[Workload]") -> str:
    from setpoint.workload.progress import is_suspended

    refuse_stopped(workload)
    whole = next((each for each in workloads if workload in each.children), None)
    if whole is not None and is_suspended(whole.tree):
        raise Failure(f"{whole.name} is stopped as a whole: use `setpoint start {whole.name}`", USAGE)
    if workload.kind == "Task":
        return "is already running" if workload.status.get("active") else ""
    return "is already running" if is_up(workload, "") == "there" and not is_over(workload) else ""


def _is_one_of_all(workload: "Workload") -> bool:
    """Returns True if --all starts the workload. Of the tasks, only those with a suspended schedule are included."""
    spec = workload.tree["spec"]
    return workload.kind != "Task" or bool(spec.get("schedule") and spec.get("suspend"))


async def _act(client: "Client", workload: "Workload") -> str:
    from setpoint.session import part_control
    from setpoint.workload.progress import is_suspended

    spec = workload.tree["spec"]
    if workload.kind == "Task":
        if spec.get("schedule") and spec.get("suspend"):
            await part_control.start(client, workload.tree)
            return ""
        return await part_control.restart(client, workload.tree)
    if is_suspended(workload.tree) or spec.get("start") is False:
        await part_control.start(client, workload.tree)
    elif is_over(workload):
        await part_control.restart(client, workload.tree)
    await start_replicas(client, workload)
    for each in workload.children:
        if is_over(each) and not is_suspended(each.tree) and not has_stopped_for_good(each):
            await part_control.restart(client, each.tree)
    return ""


async def start_replicas(client: "Client", workload: "Workload") -> None:
    """Starts the replicas that were stopped individually."""
    from setpoint.objects import meta
    from setpoint.session import part_control
    from setpoint.workload.kinds.api_names import SUSPENDED_WITH_SET
    from setpoint.workload.progress import is_suspended

    for each in workload.children:
        if is_suspended(each.tree) and SUSPENDED_WITH_SET not in meta.annotations(each.tree):
            await part_control.start(client, each.tree)


START = Deed("start", "starting", "started", True, _is_one_of_all, _idle, _act, is_up)
