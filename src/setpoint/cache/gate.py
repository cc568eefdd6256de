"""The gate: whether the server answers at all.

When a server cannot be reached, everything that follows it fails at once, and would ask again and again. So one asks
for all of them, by a request that costs next to nothing, and the others wait at the gate until it is answered. Who
waits can be cancelled like anybody else; who wants to know looks at `trouble`.
"""

import asyncio
import logging
from datetime import datetime

from setpoint.client.client import Client
from setpoint.client.transport import Call, TransportError
from setpoint.objects.clock import Clock
from setpoint.objects.errors import APIError

# How long an answer may take, and how long it is waited before it is asked again: first, and at most.
ANSWER_SECONDS = 15.0
FIRST_SECONDS, LIMIT_SECONDS = 0.5, 15.0

_log = logging.getLogger(__name__)


class Gate:
    """One for all that follow a server."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._open = asyncio.Event()
        self._open.set()
        self._asking: asyncio.Task[None] | None = None
        self._error: Exception | None = None
        self._since: datetime | None = None

    @property
    def is_open(self) -> bool:
        """Whether the server is believed to answer."""
        return self._open.is_set()

    @property
    def trouble(self) -> str:
        """What is wrong, and since when; empty where nothing is."""
        if self._open.is_set() or self._since is None:
            return ""
        return f"the server has not answered since {self._since:%Y-%m-%d %H:%M:%S} UTC: {self._error}"

    def doubt(self) -> None:
        """Somebody did not reach the server: it is asked whether it is there. Until that fails nobody waits."""
        if self._asking is None:
            self._asking = asyncio.ensure_future(self._ask())

    async def passed(self) -> None:
        """Returns when the server answers."""
        await self._open.wait()

    async def close(self) -> None:
        """Asks no more. Who waits goes on."""
        asking, self._asking = self._asking, None
        if asking is not None:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
        self._open.set()

    async def _ask(self) -> None:
        seconds = FIRST_SECONDS
        while not await self._is_there():
            if self._open.is_set():
                self._open.clear()
                self._since = self._clock.now()
                _log.warning("%s", self.trouble)
            await self._clock.sleep(seconds)
            seconds = min(seconds * 2, LIMIT_SECONDS)
        if not self._open.is_set():
            _log.info("the server answers again")
        self._open.set()
        self._asking = None

    async def _is_there(self) -> bool:
        try:
            await self._client.send(Call("GET", "/version", (), {"accept": "application/json"}, timeout=ANSWER_SECONDS))
        except TransportError as error:
            self._error = error
            return False
        except APIError as error:
            self._error = error
            return error.code < 500  # it refuses, and is there
        return True
