"""What a process that serves does around its work: an event loop, as many files as it may have, signals that end it."""

import asyncio
import contextlib
import logging
import signal
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Protocol

from setpoint.client.loop import loop_factory

_log = logging.getLogger(__name__)


Serve = Callable[[asyncio.Event], Coroutine[Any, Any, None]]


def run(serve: Serve) -> int:
    """Serves until SIGINT or SIGTERM comes, which sets the event that `serve` is given; a second one does not wait for
    it to finish. Returns the exit code, and raises what `serve` raises."""
    _raise_file_limit()
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(_until_told(serve))


async def until(stop: asyncio.Event, ended: Coroutine[Any, Any, None]) -> None:
    """Returns when it is told to stop, or something has come to its end; raises what that raises."""
    stopping, ending = asyncio.ensure_future(stop.wait()), asyncio.ensure_future(ended)
    try:
        await asyncio.wait((stopping, ending), return_when=asyncio.FIRST_COMPLETED)
        if ending.done():
            ending.result()
    finally:
        for task in (stopping, ending):
            task.cancel()
        await asyncio.gather(stopping, ending, return_exceptions=True)


class Workloads(Protocol):
    """A control plane, as far as its end goes."""

    @property
    def runs_workloads(self) -> bool: ...

    def end(self) -> None:
        """Asks for the end of its workloads."""

    async def ended(self) -> None:
        """Returns when somebody has asked for it, and they are cleaned up."""


async def until_ended(plane: Workloads, reasons: Mapping[str, Coroutine[Any, Any, Any]]) -> None:
    """Returns when one of the reasons to end has come about, or a client asks for it, and all is cleaned up. Raises
    what keeps the workloads from running."""
    ended = asyncio.ensure_future(plane.ended())
    waiting = {why: asyncio.ensure_future(reason) for why, reason in reasons.items()}
    try:
        await asyncio.wait((ended, *waiting.values()), return_when=asyncio.FIRST_COMPLETED)
        if not ended.done() and plane.runs_workloads:
            _log.info("everything ends: %s", next(why for why, task in waiting.items() if task.done()))
            plane.end()
            await asyncio.wait((ended,))
        if ended.done():
            ended.result()
    finally:
        for task in (ended, *waiting.values()):
            task.cancel()
        await asyncio.gather(ended, *waiting.values(), return_exceptions=True)


async def _until_told(serve: Serve) -> int:
    stop = asyncio.Event()
    serving = asyncio.create_task(serve(stop))

    def told() -> None:
        if stop.is_set():
            serving.cancel()
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, told)
    try:
        await serving
    except asyncio.CancelledError:
        return 1
    return 0


def _raise_file_limit() -> None:
    """Allows as many connections as the system lets us have: every watch is one."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
