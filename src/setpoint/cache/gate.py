"""The gate: tracks whether the server answers.

When a server cannot be reached, all reflectors fail and would retry at once. Instead, the gate probes the server with
one cheap request, and the reflectors wait at the gate until the probe succeeds. A waiting task can be cancelled as
usual; `problem` has the reason of the outage.
"""

import asyncio
import logging
from datetime import datetime

from setpoint.client.client import Client
from setpoint.client.transport import Call, TransportError
from setpoint.objects.clock import Clock
from setpoint.objects.errors import APIError

# The timeout of a probe; and the first and the longest delay between probes.
ANSWER_SECONDS = 15.0
FIRST_SECONDS, LIMIT_SECONDS = 0.5, 15.0

_log = logging.getLogger(__name__)


class ReflectorGate:
    """The gate shared by all reflectors of a server."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._open = asyncio.Event()
        self._open.set()
        self._probing: asyncio.Task[None] | None = None
        self._error: Exception | None = None
        self._since: datetime | None = None

    @property
    def is_open(self) -> bool:
        """True while the server is assumed to answer."""
        return self._open.is_set()

    @property
    def problem(self) -> str:
        """The error and the start of the outage; empty while the server answers."""
        if self._open.is_set() or self._since is None:
            return ""
        return f"the server has not answered since {self._since:%Y-%m-%d %H:%M:%S} UTC: {self._error}"

    def start_probing(self) -> None:
        """Starts to probe the server after a failed request. Reflectors wait only once a probe has failed."""
        if self._probing is None:
            self._probing = asyncio.ensure_future(self._probe())

    async def wait_open(self) -> None:
        """Returns when the server answers."""
        await self._open.wait()

    async def close(self) -> None:
        """Stops the probes, and releases all waiting tasks."""
        asking, self._probing = self._probing, None
        if asking is not None:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
        self._open.set()

    async def _probe(self) -> None:
        seconds = FIRST_SECONDS
        while not await self._is_reachable():
            if self._open.is_set():
                self._open.clear()
                self._since = self._clock.now()
                _log.warning("%s", self.problem)
            await self._clock.sleep(seconds)
            seconds = min(seconds * 2, LIMIT_SECONDS)
        if not self._open.is_set():
            _log.info("the server answers again")
        self._open.set()
        self._probing = None

    async def _is_reachable(self) -> bool:
        try:
            await self._client.send(Call("GET", "/version", (), {"accept": "application/json"}, timeout=ANSWER_SECONDS))
        except TransportError as error:
            self._error = error
            return False
        except APIError as error:
            self._error = error
            return error.code < 500  # an error answer below 500 proves that the server runs
        return True
