"""`setpoint restart`: restarts parts of an app, replicas one after the other."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from setpoint.cli.app.part_control import ControlOptions, Deed, is_up, refuse_stopped, steer, steering_options
from setpoint.cli.support.connection import Server, run

if TYPE_CHECKING:
    from setpoint.cli.workloads.inventory import Workload
    from setpoint.client.client import Client

_LOOK_SECONDS = 0.05


@click.command()
@steering_options
def restart(names: tuple[str, ...], how: ControlOptions, server: Server) -> None:
    """Restart parts of the app.

    Replicas restart one after the other, each when the previous one is ready; api.2 names a single replica. Stopped or
    exited parts start. A running task is stopped and runs again. Exits with code 1 if a part fails permanently, and
    with code 4 if a part is not ready in time.

    \b
      setpoint restart api
      setpoint restart --all
    """
    run(steer(server, names, how, RESTART))


def _idle(workload: "Workload", workloads: "Sequence[Workload]") -> str:
    refuse_stopped(workload)
    return ""


def _is_one_of_all(workload: "Workload") -> bool:
    """Returns True unless the workload is a task: --all does not repeat finished tasks."""
    return workload.kind != "Task"


async def _act(client: "Client", workload: "Workload") -> str:
    from setpoint.cli.app.start import start_replicas
    from setpoint.session import part_control

    if workload.kind == "Task":
        await _end(client, workload)
    else:
        await start_replicas(client, workload)
        if workload.tree["spec"].get("start") is False:
            await part_control.start(client, workload.tree)
    return await part_control.restart(client, workload.tree)


async def _end(client: "Client", task: "Workload") -> None:
    """Stops the runs of a task; otherwise the next run would be skipped while another is active."""
    from setpoint.cli.app.stop import end_runs
    from setpoint.cli.workloads.inventory import read_again

    await end_runs(client, task)
    now: Workload | None = task
    while now is not None and now.status.get("active"):
        await client.clock.sleep(_LOOK_SECONDS)
        now = await read_again(client, task)


RESTART = Deed("restart", "restarting", "restarted", True, _is_one_of_all, _idle, _act, is_up)
