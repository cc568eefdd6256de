"""Recalculates quotas periodically. The usage is correct after every request (`server.quota.ledger`); this controller
catches changes without a request."""

import logging

from setpoint.store.contract import StoreError
from setpoint.system.controller_host import ControllerHost
from setpoint.system.system_environment import ServerInterface

EVERY_SECONDS = 300.0

_log = logging.getLogger(__name__)


async def keep_counting(server: ServerInterface) -> None:
    """Recalculates until cancelled, if there were writes since the last time."""
    counted_at = -1
    while True:
        await server.clock.sleep(EVERY_SECONDS)
        try:
            revision = await server.revision()
            if revision != counted_at:
                await server.count_quotas()
                counted_at = revision
        except StoreError as error:
            _log.warning("cannot recalculate the quotas: %s", error)


async def start(host: ControllerHost) -> None:
    """Starts the periodic recalculation."""
    host.run(lambda: keep_counting(host.server))
