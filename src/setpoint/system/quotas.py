"""Recalculates quotas periodically. The usage is correct after every request (`server.quota.ledger`); this controller
catches changes without a request."""

import logging

from setpoint.store.contract import StoreError
from setpoint.system.system_environment import Home

EVERY_SECONDS = 300.0

_log = logging.getLogger(__name__)


async def keep_counting(home: Home) -> None:
    """Recalculates until cancelled, if there were writes since the last time."""
    counted_at = -1
    while True:
        await home.clock.sleep(EVERY_SECONDS)
        try:
            revision = await home.revision()
            if revision != counted_at:
                await home.count_quotas()
                counted_at = revision
        except StoreError as error:
            _log.warning("cannot recalculate the quotas: %s", error)
