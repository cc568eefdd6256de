"""Quotas are counted anew from time to time. The server's books are right after every request of a client
(`server.quota.ledger`); what happened without one they learn of here."""

import logging

from setpoint.store.contract import StoreError
from setpoint.system.assembly import Home

EVERY_SECONDS = 300.0

_log = logging.getLogger(__name__)


async def keep_counting(home: Home) -> None:
    """Counts until it is cancelled; while nothing is written nothing is counted."""
    counted_at = -1
    while True:
        await home.clock.sleep(EVERY_SECONDS)
        try:
            revision = await home.revision()
            if revision != counted_at:
                await home.count_quotas()
                counted_at = revision
        except StoreError as error:
            _log.warning("quotas could not be counted: %s", error)
