"""The program of an operator: runs controllers in this process until a signal ends it."""

import asyncio
import gc
import logging
import signal
from contextlib import suppress
from typing import Any

from setpoint.client.client import Client
from setpoint.client.loop import loop_factory
from setpoint.controller.manager import Manager

_log = logging.getLogger(__name__)


def run(*controllers: object, client: Client | None = None, **options: Any) -> None:
    """Runs controllers until SIGINT or SIGTERM. `options` are those of `Manager`.

    Without a client, connects to the cluster of KUBECONFIG, of the pod, or of `~/.kube/config`.

        run(website, leader_election="websites", metrics=":8080", health=":8081")
    """

    async def main() -> None:
        async with client or Client.connect() as connected:
            # Excludes loaded modules from garbage collection.
            gc.freeze()
            await run_until_signal(Manager(connected, controllers=controllers, **options))

    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(main())


async def run_until_signal(manager: Manager) -> None:
    """Runs a manager until SIGINT or SIGTERM and stops it cleanly; a second signal cancels it at once."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    running = asyncio.ensure_future(manager.run(stop))

    def on_signal() -> None:
        if stop.is_set():
            _log.warning("second signal received: cancelling running reconciles")
            running.cancel()
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
