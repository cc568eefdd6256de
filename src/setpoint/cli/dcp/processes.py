"""`stop-process-tree`, `monitor-process` and `fork-process`: commands on single processes of clients.

Processes of workloads have a guardian instead, and do not need these commands.
"""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from setpoint.cli.dcp.process_monitor import monitor_options, process_of
from setpoint.cli.output.terminal import echo
from setpoint.cli.support.errors import Failure
from setpoint.objects.clock import SystemClock
from setpoint.workload.process import detached_process
from setpoint.workload.process.exit_wait import wait_exit

if TYPE_CHECKING:
    from setpoint.workload.process.identity import Identity

_POLL_SECONDS = 0.05


@click.command()
@click.option("--pid", type=int, required=True, help="Process to stop with its descendants.")
@click.option("--process-start-time", metavar="TIME", default="", help="Start time of the process (RFC 3339).")
@click.option("--skip-descendants", is_flag=True, help="Stop only the process itself.")
def stop_process_tree(pid: int, process_start_time: str, skip_descendants: bool) -> None:
    """Terminate a process and its descendants, and kill those that do not exit."""
    found = process_of(pid, process_start_time, "--process-start-time")
    if found is None:
        raise Failure(f"no process {pid} with that start time")
    asyncio.run(_stop(found, alone=skip_descendants))


@click.command()
@monitor_options(required=True)
@click.option(
    "-p", "--child", type=int, required=True, metavar="PID", help="Process that is stopped when the other one exits."
)
@click.option("--child-identity-time", metavar="TIME", default="", help="Start time of the process (RFC 3339).")
@click.option("-r", "--resource-id", metavar="ID", default="", help="Resource that owns the process, for the log.")
def monitor_process(child: int, child_identity_time: str, **flags: Any) -> None:
    """Stop a process when another one exits."""
    watched = process_of(flags["monitor"], flags["monitor_identity_time"], "--monitor-identity-time")
    found = process_of(child, child_identity_time, "--child-identity-time")
    if found is not None:
        asyncio.run(_monitor(watched, found, flags["monitor_interval"]))


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@monitor_options()
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def fork_process(command: Sequence[str], **flags: Any) -> None:
    """Start a detached process and print its pid.

    With --monitor, waits for the process and exits with its exit code, unless the monitored process exits first.
    """
    watched = None
    if flags["monitor"] is not None:
        watched = process_of(flags["monitor"], flags["monitor_identity_time"], "--monitor-identity-time")
        if watched is None:
            return  # the monitored process has already exited
    try:
        # The process does not inherit stdout, so that readers of our output need not wait for its end.
        started = detached_process.start(command)
    except OSError as error:
        raise Failure(f"{command[0]}: {error.strerror}") from None
    echo(started.pid)
    if watched is None:
        detached_process.stop_tracking(started)
        return
    sys.exit(asyncio.run(_outlive(started, watched, flags["monitor_interval"])))


async def _stop(identity: "Identity", *, alone: bool = False) -> None:
    from setpoint.objects.ids import SystemIds
    from setpoint.workload.process.command import STOP_GRACE
    from setpoint.workload.process.identity import is_alive
    from setpoint.workload.process.processes import Processes

    clock = SystemClock()
    if not alone:
        processes = Processes(clock, SystemIds())
        try:
            stopped = await processes.stop(identity)
        finally:
            await processes.close()
        if stopped.left:
            raise Failure(f"could not stop: {', '.join(stopped.left)}")
        return
    for number, seconds in ((signal.SIGTERM, STOP_GRACE), (signal.SIGKILL, STOP_GRACE)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(identity.pid, number)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await wait_exit(identity, clock, _POLL_SECONDS)
        if not is_alive(identity):
            return
    raise Failure(f"could not stop process {identity.pid}")


async def _monitor(watched: "Identity | None", child: "Identity", interval: float) -> None:
    clock = SystemClock()
    ended = asyncio.ensure_future(wait_exit(child, clock, interval))
    if watched is not None:
        gone = asyncio.ensure_future(wait_exit(watched, clock, interval))
        await asyncio.wait((ended, gone), return_when=asyncio.FIRST_COMPLETED)
        gone.cancel()
    if not ended.done():
        await _stop(child)
    ended.cancel()
    await asyncio.gather(ended, return_exceptions=True)


async def _outlive(started: "subprocess.Popen[bytes]", watched: "Identity", interval: float) -> int:
    waiting = asyncio.get_running_loop().run_in_executor(None, started.wait)
    gone = asyncio.ensure_future(wait_exit(watched, SystemClock(), interval))
    await asyncio.wait((waiting, gone), return_when=asyncio.FIRST_COMPLETED)
    if waiting.done():
        gone.cancel()
        return waiting.result()
    os._exit(0)  # the process keeps running; the waiting thread is abandoned
