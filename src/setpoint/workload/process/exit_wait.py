"""Waits for the end of a process that is not our child."""

import asyncio
import os

from setpoint.objects.clock import Clock
from setpoint.workload.process.identity import Identity, is_alive
from setpoint.workload.process.termination import exit_descriptor

_INTERVAL_SECONDS = 2


async def wait_exit(identity: Identity, clock: Clock, interval: float = 0) -> None:
    """Returns when a process has ended; `interval` is the polling interval if the system refuses to report the exit."""
    descriptor = exit_descriptor(identity)
    if descriptor is None:
        while is_alive(identity):
            await clock.sleep(interval or _INTERVAL_SECONDS)
        return
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(descriptor, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
