"""`monitor-container`: removes a container when a process ends, for clients with their own containers.

Containers of workloads have a guardian instead, and do not need this command.
"""

import asyncio
import os
from collections.abc import Awaitable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from setpoint.cli.dcp.information import runtime_option
from setpoint.cli.dcp.process_monitor import monitor_options, process_of
from setpoint.cli.support.errors import Failure
from setpoint.objects.clock import Clock, SystemClock
from setpoint.workload.process.exit_wait import wait_exit

if TYPE_CHECKING:
    from setpoint.workload.engine.engine import Engine
    from setpoint.workload.process.identity import Identity

_LOOK_SECONDS = 30.0


@click.command()
@monitor_options(required=True)
@click.option("--containerID", "container", metavar="ID", required=True, help="ID or name of the container.")
@click.option("--stop-only", is_flag=True, help="Stop the container without removing it.")
@click.option("--containerPollInterval", "look", metavar="DURATION", default="", hidden=True)
@click.option("-r", "--resource-id", metavar="ID", default="", help="Resource that owns the container, for the log.")
@runtime_option
def monitor_container(container: str, look: str, stop_only: bool, container_runtime: str | None, **flags: Any) -> None:
    """Stop and remove a container when a process ends. Exits earlier if the container is removed."""
    from setpoint.objects.duration import SECOND, parse

    try:
        seconds = parse(look) / SECOND if look else _LOOK_SECONDS
    except ValueError as error:
        raise Failure(f"--containerPollInterval: {error}") from None
    watched = process_of(flags["monitor"], flags["monitor_identity_time"], "--monitor-identity-time")
    asyncio.run(_monitor(watched, flags["monitor_interval"], container, seconds, stop_only, container_runtime or ""))


async def _monitor(
    watched: "Identity | None", interval: float, container: str, look: float, stop_only: bool, preference: str
) -> None:
    from setpoint.workload.engine.choice import Unavailable, connect
    from setpoint.workload.engine.errors import EngineError

    clock = SystemClock()
    engine = await connect(clock, os.environ, preference, starts=True)
    if isinstance(engine, Unavailable):
        raise Failure(f"{engine.message}: {engine.remedy}")
    try:
        if watched is None:  # already gone: end the container immediately
            await end_container(engine, container, stop_only=stop_only)
        else:
            gone = wait_exit(watched, clock, interval)
            await tie(engine, container, gone, clock, look_seconds=look, stop_only=stop_only)
    except EngineError as error:
        raise Failure(f"container {container} may still be running: {error}") from None
    finally:
        await engine.close()


async def tie(
    engine: "Engine", container: str, gone: Awaitable[None], clock: Clock, *, look_seconds: float, stop_only: bool
) -> None:
    """Ends a container when `gone` completes; returns earlier if the container is removed. Raises EngineError."""
    happened = asyncio.ensure_future(gone)
    removed = asyncio.ensure_future(_until_removed(engine, container, clock, look_seconds))
    try:
        await asyncio.wait((happened, removed), return_when=asyncio.FIRST_COMPLETED)
        if happened.done():
            await end_container(engine, container, stop_only=stop_only)
    finally:
        for task in (happened, removed):
            task.cancel()
        await asyncio.gather(happened, removed, return_exceptions=True)


async def end_container(engine: "Engine", container: str, *, stop_only: bool) -> None:
    """Stops a container, and removes the container unless `stop_only`. Raises EngineError."""
    from setpoint.workload.engine.errors import EngineError, NotFound

    try:
        await engine.containers.stop(container)
    except NotFound:
        return
    except EngineError:
        if stop_only:
            raise
    if not stop_only:
        await engine.containers.remove(container)


async def _until_removed(engine: "Engine", container: str, clock: Clock, seconds: float) -> None:
    """Waits until the container does not exist any more. Ignores errors of the engine."""
    from setpoint.workload.engine.errors import EngineError

    while True:
        with suppress(EngineError):
            if await engine.containers.find(container) is None:
                return
        await clock.sleep(seconds)
