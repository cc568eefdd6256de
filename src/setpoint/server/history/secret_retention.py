"""Retention by age for the past values of Secrets: off unless a limit is set.

A value of a Secret that was replaced or deleted longer ago than the limit is purged (`server/history/purge.py`). Every
round reads the Secrets in pages, so that other requests are served in between, and removes the bytes from the files
once at the end. A tombstone of the user `system:retention` is kept for a year.
"""

import asyncio
import logging

from setpoint.objects.provenance import Actor
from setpoint.objects.times import format_micro_time
from setpoint.objects.tree import Object
from setpoint.server.history.purge import evict
from setpoint.server.history.tombstones import bury
from setpoint.server.request.context import Services
from setpoint.store.contract import Closed, Purge, Selection, StoreError

SECRETS = "/core/secrets/"
USER = "system:retention"
_PAGE = 100
# The interval between rounds is a quarter of the limit, within these bounds.
_PART = 4
_LEAST_SECONDS, _MOST_SECONDS = 60.0, 3600.0
_KEPT_SECONDS = 365 * 24 * 3600.0

_log = logging.getLogger(__name__)


class SecretRetention:
    """The purge rounds of one server."""

    def __init__(self, services: Services, seconds: float) -> None:
        self._services = services
        self._seconds = seconds
        self.removed = 0  # values, since the start

    @property
    def pause(self) -> float:
        """The seconds between two rounds."""
        return min(max(self._seconds / _PART, _LEAST_SECONDS), _MOST_SECONDS)

    async def run(self) -> None:
        """Runs rounds until the store is closed; the first one starts immediately."""
        while True:
            try:
                await self.round()
            except Closed:
                return
            except StoreError as error:
                _log.warning("past values of Secrets could not be purged: %s; trying again later", error)
            await self._services.clock.sleep(self.pause)

    async def round(self) -> int:
        """Purges the values that are too old; returns their number."""
        store, now = self._services.store, self._services.clock.now()
        reason = f"older than {self._seconds:g} seconds"
        selection = Selection(SECRETS, is_prefix=True, before=now.timestamp() - self._seconds)
        purge, removed = Purge(USER, now.timestamp(), reason), 0
        after: str | None = ""
        while after is not None:
            page = await store.purge(selection, purge, after, _PAGE)
            for key, number in page.removed:
                removed += number
                evict(self._services, key)
                record: Object = {
                    "id": "retention",
                    "user": USER,
                    "time": format_micro_time(now),
                    "reason": reason,
                    "phase": "Completed",
                    "removed": number,
                }
                await bury(store, key, record, Actor(USER), None, ttl=_KEPT_SECONDS)
            after = page.after
            await asyncio.sleep(0)
        if removed:
            await store.scrub()
        self.removed += removed
        return removed
