"""The publication of a server's address, beside those of the other live servers of its store."""

import asyncio
import logging
from contextlib import suppress

from setpoint.server.bootstrap.kubernetes_service import advertise, withdraw
from setpoint.server.bootstrap.server_leases import RENEWAL_SECONDS, ServerLeases
from setpoint.server.request.context import Services
from setpoint.store.contract import StoreError

_log = logging.getLogger(__name__)


class SharedPublication:
    """Limits the `kubernetes` Endpoints to the servers that renew their Leases."""

    def __init__(self, services: Services, address: str, port: int) -> None:
        self._services, self._address, self._port = services, address, port
        self._leases = ServerLeases(services, address, port)
        self._renewing: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Publishes the address, and goes on in the background. Raises StoreError."""
        await self._publish()
        self._renewing = asyncio.create_task(self._renew())

    async def end(self) -> None:
        """Withdraws the address."""
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.gather(self._renewing, return_exceptions=True)
        with suppress(StoreError):  # the others withdraw the address when the Lease is over
            await self._leases.release()
            await withdraw(self._services, self._address, self._port)

    async def _renew(self) -> None:
        while True:
            await self._services.clock.sleep(RENEWAL_SECONDS)
            try:
                await self._publish()
            except StoreError as error:
                _log.warning("the address of this server could not be published, retrying: %s", error)
            except Exception:  # without renewals, the other servers would withdraw a live server
                _log.exception("the address of this server could not be published, retrying")

    async def _publish(self) -> None:
        await self._leases.renew()
        live = await self._leases.live()
        while True:
            others = [address for address, port in live if port == self._port]
            await advertise(self._services, self._address, self._port, others)
            before, live = live, await self._leases.live()
            if live == before:  # otherwise the write may have removed a server that has just begun
                return
