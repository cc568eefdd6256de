"""`setpoint stop`: stops parts of an app until `setpoint start` or `setpoint up`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from setpoint.cli.app.part_control import (
    ControlOptions,
    Deed,
    HowFar,
    has_seen,
    has_stopped_for_good,
    is_over,
    reports_suspended,
    steer,
    steering_options,
)
from setpoint.cli.output.terminal import terminal
from setpoint.cli.support.connection import Server, connect, run

if TYPE_CHECKING:
    from setpoint.cli.workloads.inventory import Workload
    from setpoint.client.client import Client


@click.command()
@steering_options
def stop(names: tuple[str, ...], how: ControlOptions, server: Server) -> None:
    """Stop parts of the app and leave the rest running.

    The parts stay stopped, with their logs and addresses, until `setpoint start` or `setpoint up`. api.2 names a single
    replica of api. Stopping a task ends its active runs and suspends its schedule. Running parts that depend on a
    stopped part are listed and not changed.

    \b
      setpoint stop db
      setpoint stop api.2
      setpoint stop --all
    """
    run(_stop(names, how, server))


async def _stop(names: tuple[str, ...], how: ControlOptions, server: Server) -> None:
    stopped = await steer(server, names, how, STOP)
    if stopped and not how.everything:
        await _print_dependents(server, stopped)


def _idle(workload: "Workload", workloads: "Sequence[Workload]") -> str:
    from setpoint.workload.progress import is_suspended

    if has_stopped_for_good(workload) and is_over(workload):
        return "is already stopped"
    if workload.kind == "Task":
        waits = workload.status.get("state") in (None, "Pending") or workload.tree["spec"].get("schedule")
        begins = waits and not workload.tree["spec"].get("suspend")
        return "" if workload.status.get("active") or begins else "is not running"
    is_stopped = is_suspended(workload.tree) and _reached(workload, "") == "there"
    return "is already stopped" if is_stopped else ""


async def _act(client: "Client", workload: "Workload") -> str:
    from setpoint.session import part_control

    if workload.kind != "Task":
        await part_control.stop(client, workload.tree)
        return ""
    spec = workload.tree["spec"]
    if not spec.get("suspend") and (spec.get("schedule") or not workload.status.get("runs")):
        await part_control.stop(client, workload.tree)
    await end_runs(client, workload)
    return ""


async def end_runs(client: "Client", task: "Workload") -> None:
    """Stops the active runs of a task."""
    from setpoint.session import part_control

    for each in task.children:
        if not is_over(each) and not each.tree["spec"].get("stop"):
            await part_control.end_run(client, each.tree, "stopped by the user")


def _reached(workload: "Workload", request: str) -> HowFar:
    if workload.kind == "Task":
        return "under way" if workload.status.get("active") else "there"
    return "there" if all(map(_has_stopped, (workload, *workload.children))) else "under way"


def _has_stopped(workload: "Workload") -> bool:
    if has_stopped_for_good(workload):
        return is_over(workload)
    return reports_suspended(workload) and has_seen(workload)


def _is_one_of_all(workload: "Workload") -> bool:
    return workload.kind != "Task" or not _idle(workload, ())


STOP = Deed("stop", "stopping", "stopped", False, _is_one_of_all, _idle, _act, _reached)


async def _print_dependents(server: Server, stopped: "list[Workload]") -> None:
    """Prints the running parts that depend on the stopped ones."""
    from setpoint.cli.workloads.inventory import read_workloads, ref
    from setpoint.workload.dependencies import needed_by

    async with connect(server, quiet=True) as client:
        workloads = await read_workloads(client)
        services = (await client.list(ref("Service"))).items
    trees = [*services, *(each.tree for each in workloads)]
    up = {(each.kind, each.name) for each in workloads if each.judgement.ready and each.kind != "Task"}
    for each in stopped:
        names = [name for kind, name in needed_by(trees, (each.kind, each.name)) if (kind, name) in up]
        if names:
            verb = "need" if len(names) > 1 else "needs"
            terminal().echo(
                f"{' and '.join(names)} {verb} {each.called} and keep{'' if len(names) > 1 else 's'} running"
            )
