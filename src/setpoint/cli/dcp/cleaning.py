"""`cleanup`: removes what a workload left behind on purpose, and reports it as JSON."""

import asyncio
import os
import sys
import tempfile
from functools import partial
from pathlib import Path

import click

from setpoint.cli.dcp import variables


@click.command()
@click.argument("workload_id")
def cleanup(workload_id: str) -> None:
    """Remove the persistent processes, containers and networks of a workload."""
    workload = variables.workload_id(workload_id, {})
    if not workload:
        raise click.ClickException("the id of the workload is empty")
    with tempfile.TemporaryDirectory(prefix="setpoint-dcp-") as directory:
        sys.exit(asyncio.run(_clean_up(workload, Path(directory))))


async def _clean_up(workload: str, directory: Path) -> int:
    import msgspec

    from setpoint.objects.clock import SystemClock
    from setpoint.objects.ids import SystemIds
    from setpoint.workload.cleanup import CleanUp
    from setpoint.workload.engine.choice import connect
    from setpoint.workload.engines import Engines
    from setpoint.workload.hosting import records_path
    from setpoint.workload.logs.store import LogStore
    from setpoint.workload.process.identity import Identity, identity_of
    from setpoint.workload.process.processes import Processes
    from setpoint.workload.proxy.ports import Ports
    from setpoint.workload.records import Records
    from setpoint.workload.world import World

    clock, ids, path = SystemClock(), SystemIds(), records_path(os.environ)
    processes = Processes(clock, ids)
    finding = partial(connect, clock, os.environ)
    records = Records(path, identity_of(os.getpid()) or Identity(os.getpid(), 0), processes.session)
    try:
        if records.problem:
            raise click.ClickException(records.problem)
        world = World(
            clock=clock,
            ids=ids,
            processes=processes,
            records=records,
            ports=Ports(records.ports),
            logs=LogStore(directory, clock),
            directory=directory,
            engines=Engines(clock, processes, finding),
        )
        report = await CleanUp(world, finding).run(workload)
    finally:
        await processes.close()
        records.close()
    click.echo(msgspec.json.encode(report.told()).decode())
    return 1 if report.failures else 0
