"""`run-controllers`: runs only the controllers, for a server in another process (`start-apiserver --server-only`).

`start-apiserver` runs them itself. The logs of objects are where their controllers run: a server without controllers
shows the logs in the folder that both processes share, `DCP_SESSION_FOLDER`.
"""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import click

from setpoint import process
from setpoint.cli.dcp import variables
from setpoint.cli.dcp.information import runtime_option
from setpoint.cli.dcp.process_monitor import monitor_options, monitored
from setpoint.cli.support.errors import Failure
from setpoint.cli.support.processes import require_processes
from setpoint.objects.clock import SystemClock
from setpoint.workload.process.exit_wait import wait_exit


@click.command()
@click.option("--kubeconfig", metavar="FILE", default="", help="Path to the kubeconfig of the server.")
@click.option("--workload-id", metavar="ID", default=None, help="ID under which persistent resources are recorded.")
@click.option("--port", type=int, default=0, help="Accepted and ignored; the kubeconfig contains the address.")
@click.option("--notification-socket", metavar="PATH", default="", help="Accepted and ignored; not needed.")
@runtime_option
@monitor_options()
@click.option("-v", "--verbosity", metavar="LEVEL", default="", help="Log level: debug, info, error or a number.")
def run_controllers(**flags: Any) -> None:
    """Run the controllers for the objects of a server."""
    from setpoint.cli.dcp import diagnostics

    require_processes()
    diagnostics.set_up(flags["verbosity"], os.environ)
    path = variables.kubeconfig_path(flags["kubeconfig"], os.environ)
    if not path.exists():
        raise Failure(f"kubeconfig {path} not found: start the server first, or pass --kubeconfig")
    sys.exit(process.run(lambda stop: _run(path, flags, stop)))


async def _run(path: Path, flags: Any, stop: asyncio.Event) -> None:
    from setpoint.client.connection_config import ConfigError
    from setpoint.client.transport import TransportError
    from setpoint.objects.errors import APIError
    from setpoint.workload.workloads import Workloads

    watched = monitored(flags)
    with variables.session(os.environ) as session:
        try:
            client = _client(path)
        except ConfigError as error:
            raise Failure(str(error)) from error
        settings = variables.workload_settings(session.folder, Path.cwd(), flags)
        async with client:
            workloads = Workloads(client, settings)
            try:
                await workloads.prepare()
                await workloads.start()
                gone = wait_exit(watched, SystemClock(), flags["monitor_interval"]) if watched else _never()
                await process.until(stop, gone)
            except (APIError, TransportError) as error:
                raise Failure(f"cannot use the server of {path}: {error}") from error
            finally:
                await workloads.stop()


def _client(path: Path) -> Any:
    """Returns a client of the server, with the shared token from the environment if there is one."""
    from setpoint.client.client import Client
    from setpoint.client.credentials import bearer
    from setpoint.client.kubeconfig import from_files

    token = os.environ.get(variables.TOKEN)
    if not token:
        return Client.from_kubeconfig(path)
    connection = from_files(path, context="", environ=os.environ)
    return Client(connection._replace(credentials=bearer(token)).transport())


async def _never() -> None:
    await asyncio.Event().wait()
