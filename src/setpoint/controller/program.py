"""The program of an operator: runs controllers in this process until a signal ends it.

After a signal the program ends within `graceful` and 10 more seconds: a program that hangs is ended by a watchdog
outside of the interpreter, which prints where each thread is. The event loop has to turn once to see the signal.
"""

import asyncio
import faulthandler
import gc
import logging
import signal
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from setpoint.client.client import Client
from setpoint.client.loop import loop_factory
from setpoint.controller.manager import Manager
from setpoint.controller.shutdown import SHUTDOWN_SECONDS, ShutdownTimeout

_log = logging.getLogger(__name__)


def run(*controllers: object, client: Client | None = None, **options: Any) -> None:
    """Runs controllers until SIGINT or SIGTERM. `options` are those of `Manager`.

    Without a client, connects to the cluster of KUBECONFIG, of the pod, or of `~/.kube/config`. If work still runs 10
    seconds after the `graceful` seconds, exits with code 1.

        run(website, leader_election="websites", metrics=":8080", health=":8081")
    """

    async def main() -> None:
        async with client or Client.connect() as connected:
            # Excludes loaded modules from garbage collection.
            gc.freeze()
            await run_until_signal(Manager(connected, controllers=controllers, **options), ends_process=True)

    run_program(main())


def run_program(main: Coroutine[Any, Any, None]) -> None:
    """Runs the coroutine of a program that calls `run_until_signal`. Exits with code 1 if the shutdown is given up."""
    runner = asyncio.Runner(loop_factory=loop_factory())
    try:
        runner.run(main)
    except ShutdownTimeout as error:
        # The loop cannot be closed while a task ignores its cancellation. The watchdog goes on: a thread that such work
        # has started could keep the process.
        _log.error("%s", error)
        raise SystemExit(1) from None
    except BaseException:
        _close(runner)
        raise
    _close(runner)


def _close(runner: asyncio.Runner) -> None:
    runner.close()
    faulthandler.cancel_dump_traceback_later()


async def run_until_signal(manager: Manager, *, ends_process: bool = False) -> None:
    """Runs a manager until SIGINT or SIGTERM and stops it cleanly; a second signal cancels it at once.

    With `ends_process`, a watchdog ends the process if the shutdown takes too long, also if the event loop hangs.
    """
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    running = asyncio.ensure_future(manager.run(stop))

    def on_signal() -> None:
        if stop.is_set():
            _log.warning("second signal received: cancelling running reconciles")
            running.cancel()
        elif ends_process:
            _start_watchdog(manager)
        stop.set()

    signals = (signal.SIGINT, signal.SIGTERM)
    for number in signals:
        with suppress(NotImplementedError):  # not every platform has them
            loop.add_signal_handler(number, on_signal)
    try:
        await running
    finally:
        for number in signals:
            with suppress(NotImplementedError):
                loop.remove_signal_handler(number)


def _start_watchdog(manager: Manager) -> None:
    """Ends the process after the time for the shutdown, with the position of each thread."""
    if manager.graceful is not None:
        seconds = manager.graceful + SHUTDOWN_SECONDS
        with suppress(RuntimeError, ValueError, OSError):  # there is no file for errors
            faulthandler.dump_traceback_later(seconds, exit=True)
