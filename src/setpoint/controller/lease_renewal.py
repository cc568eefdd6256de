"""Renews a lease in a thread, so that a call that blocks the event loop does not end the term.

The thread has an event loop and connections of its own. The lease is renewed only while the main loop turns: the thread
asks the main loop for a sign of life, and gives up if none came within the renew deadline. A leader that hangs thus
loses its lease, as a process that hangs must.
"""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress

from setpoint.client.client import Client
from setpoint.client.observe import ClientObserver
from setpoint.client.transport import MovableTransport, Transport
from setpoint.controller.tracing import TracedTransport
from setpoint.objects.clock import Clock, SystemClock

_log = logging.getLogger(__name__)
# Renews with a client until the renewal fails, or the function returns True.
Renew = Callable[[Client, Callable[[], bool]], Awaitable[None]]


async def client_for_thread(client: Client) -> Client | None:
    """Returns a client of the same server for the loop of another thread.

    Returns None if the client works only in this loop, as that of a server in the same process, and for a clock that is
    not the system clock: a simulation has only one thread.
    """
    transport: Transport = client.transport
    while isinstance(transport, TracedTransport):
        transport = transport.transport
    if type(client.clock) is not SystemClock or not isinstance(transport, MovableTransport):
        return None
    observer = client.observer
    return Client(
        await transport.for_other_loop(),
        clock=client.clock,
        options=client.options,
        on_warning=client.on_warning,
        observer=None if observer is None else _LoopObserver(observer, asyncio.get_running_loop()),
    )


class LoopPulse:
    """Signs of life of the creating event loop."""

    def __init__(self, clock: Clock, limit: float) -> None:
        self._clock, self._limit = clock, limit
        self._loop = asyncio.get_running_loop()
        # The time of the question that the loop has not answered yet.
        self._asked_at: float | None = None

    def is_hung(self) -> bool:
        """Returns True if the loop has not answered for too long; asks again otherwise. Called in another thread."""
        now, asked_at = self._clock.monotonic(), self._asked_at
        if asked_at is not None:
            return now - asked_at >= self._limit
        # The time counts from the question, not from the last answer: the loop may have been blocked only since then.
        self._asked_at = now
        try:
            self._loop.call_soon_threadsafe(self._answer)
        except RuntimeError:  # the loop is closed
            return True
        return False

    def _answer(self) -> None:
        self._asked_at = None


class LeaseRenewal:
    """The thread that renews a lease during one term; created in the event loop, before the work of the term."""

    def __init__(self, client: Client, renew: Renew, pulse: LoopPulse) -> None:
        self._client, self._renew, self._pulse = client, renew, pulse
        self._main_loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[None] = self._main_loop.create_future()
        self._stopped = False
        # The loop of the thread and the task in it.
        self._running: tuple[asyncio.AbstractEventLoop, asyncio.Task[None]] | None = None
        self._error: BaseException | None = None
        threading.Thread(target=self._main, name="setpoint-lease", daemon=True).start()

    async def wait(self) -> None:
        """Waits until the lease is lost. Stops the thread, and waits for its end, when cancelled."""
        try:
            await asyncio.wait((self._ended,))
        finally:
            self._stopped = True
            if self._running is not None and not self._ended.done():
                loop, task = self._running
                with suppress(RuntimeError):  # the thread has just ended
                    loop.call_soon_threadsafe(task.cancel)
            await self._until_ended()
        if self._error is not None:
            raise self._error

    async def _until_ended(self) -> None:
        cancelled = False
        while not self._ended.done():
            try:
                await asyncio.wait((self._ended,))
            except asyncio.CancelledError:
                cancelled = True
        if cancelled:
            raise asyncio.CancelledError

    # In the thread

    def _main(self) -> None:
        try:
            # Not uvloop: this loop needs no speed, and credentials may start processes.
            with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
                runner.run(self._work())
        except asyncio.CancelledError:
            pass
        except BaseException as error:
            self._error = error
        try:
            self._main_loop.call_soon_threadsafe(self._end)
        except RuntimeError:
            return  # the main loop is closed

    async def _work(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._running = asyncio.get_running_loop(), task
        if self._stopped:
            return
        try:
            await self._renew(self._client, self._pulse.is_hung)
        finally:
            await self._client.close()

    def _end(self) -> None:
        if not self._ended.done():
            self._ended.set_result(None)


class _LoopObserver:
    """Passes the observations of requests in another thread on to the main loop: metrics have no locks."""

    def __init__(self, observer: ClientObserver, loop: asyncio.AbstractEventLoop) -> None:
        self._observer, self._loop = observer, loop

    def requested(self, method: str, host: str, code: str, seconds: float) -> None:
        self._pass_on(self._observer.requested, method, host, code, seconds)

    def retried(self, method: str, host: str, code: str) -> None:
        self._pass_on(self._observer.retried, method, host, code)

    def limited(self, method: str, host: str, seconds: float) -> None:
        self._pass_on(self._observer.limited, method, host, seconds)

    def _pass_on(self, observe: Callable[..., None], *args: str | float) -> None:
        try:
            self._loop.call_soon_threadsafe(observe, *args)
        except RuntimeError:
            _log.debug("a request was not counted: the event loop is closed")
