"""`cleanup`: removes the persistent resources of a workload, and prints a report as JSON."""

import asyncio
import os
import sys
import tempfile
from pathlib import Path

import click

from setpoint.cli.dcp import variables
from setpoint.cli.output.terminal import echo
from setpoint.cli.support.errors import Failure


@click.command()
@click.argument("workload_id")
def cleanup(workload_id: str) -> None:
    """Remove the persistent processes, containers and networks of a workload."""
    workload = variables.workload_id(workload_id, {})
    if not workload:
        raise Failure("the workload id is empty")
    with tempfile.TemporaryDirectory(prefix="setpoint-dcp-") as directory:
        sys.exit(asyncio.run(_clean_up(workload, Path(directory))))


async def _clean_up(workload: str, directory: Path) -> int:
    import msgspec

    from setpoint.objects.clock import SystemClock
    from setpoint.objects.ids import SystemIds
    from setpoint.workload.cleanup import CleanUpError, clean_up

    try:
        report = await clean_up(workload, os.environ, SystemClock(), SystemIds(), directory)
    except CleanUpError as error:
        raise Failure(str(error)) from None
    echo(msgspec.json.encode(report.to_json()).decode())
    return 1 if report.failures else 0
