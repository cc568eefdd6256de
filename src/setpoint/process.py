"""The frame of a server process: the event loop, the limit of open files, and the signals that end the process."""

import asyncio
import contextlib
import logging
import signal
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Protocol

from setpoint.client.loop import loop_factory

_log = logging.getLogger(__name__)


Serve = Callable[[asyncio.Event], Coroutine[Any, Any, None]]


def run(serve: Serve, *, raise_file_limit: bool = True) -> int:
    """Serves until SIGINT or SIGTERM, which sets the event passed to `serve`; a second signal cancels `serve`. Returns
    the exit code, and raises the errors of `serve`."""
    if raise_file_limit:
        _raise_file_limit()
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(_until_told(serve))


async def until(stop: asyncio.Event, ended: Coroutine[Any, Any, None]) -> None:
    """Waits for the stop event or the end of a coroutine; raises the coroutine's error."""
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
    """The interface of a control plane for its shutdown."""

    @property
    def runs_workloads(self) -> bool: ...

    def end(self) -> None:
        """Requests the shutdown of the workloads."""

    async def ended(self) -> None:
        """Returns when a shutdown was requested, and the workloads are cleaned up."""


async def until_ended(plane: Workloads, reasons: Mapping[str, Coroutine[Any, Any, Any]]) -> str:
    """Waits until one of the reasons to end occurs, or a client requests the shutdown, and the workloads are cleaned
    up. Returns the reason; empty for a request. Raises an error if the workloads cannot run."""
    ended = asyncio.ensure_future(plane.ended())
    reason = ""
    waiting = {why: asyncio.ensure_future(reason) for why, reason in reasons.items()}
    try:
        await asyncio.wait((ended, *waiting.values()), return_when=asyncio.FIRST_COMPLETED)
        if not ended.done():
            reason = next(why for why, task in waiting.items() if task.done())
        if not ended.done() and plane.runs_workloads:
            _log.info("shutting down: %s", reason)
            plane.end()
            await asyncio.wait((ended,))
        if ended.done():
            ended.result()
        return reason
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

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, told)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(told))
    try:
        await serving
    except asyncio.CancelledError:
        return 1
    return 0


def _raise_file_limit() -> None:
    """Raises the limit of open files to the maximum: every watch is a connection."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
