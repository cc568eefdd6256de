"""Reads of the cache that accept a state of any age: those with `resourceVersion=0`, or not older than a revision.

They do not ask the store for the newest revision, and are answered even if the store cannot be reached. Objects that
are not in memory are read from the store. The indexes of a server use these reads as well, after their callers have
asked for the newest revision.
"""

from collections.abc import Sequence

from setpoint.store.bounds import Bounds
from setpoint.store.cached.publishing import Listener
from setpoint.store.cached.state_cache import StateCache
from setpoint.store.contract import Item, NotHeld, Page


class AnyAge:
    """The current state as far as the cache knows it. Past states are those of the cache."""

    def __init__(self, cache: StateCache) -> None:
        self._cache = cache

    @property
    def current(self) -> int:
        return self._cache.current

    @property
    def bounds(self) -> Bounds:
        return self._cache.bounds

    async def revision(self) -> int:
        return self._cache.current if self._cache.has_begun else await self._cache.revision()

    async def reach(self, revision: int) -> bool:
        """Waits for some seconds until the cache has reached a revision. Returns False if that takes too long."""
        return await self._cache.reach(revision)

    async def holds(self, prefix: str) -> bool:
        return await self._cache.holds(prefix)

    def scan(self, prefix: str, after: str, limit: int, at: int | None) -> Sequence[Item]:
        return self._cache.scan(prefix, after, limit, at)

    async def get(self, key: str, at: int | None = None) -> Item | None:
        try:
            return self._cache.held_item(key, at)
        except NotHeld:
            return await self._cache.get(key, at)

    def peek(self, key: str) -> Item | None:
        return self._cache.peek(key)

    async def count(self, prefix: str, at: int | None = None) -> int:
        try:
            return self._cache.held_count(prefix, at)
        except NotHeld:
            return await self._cache.count(prefix, at)

    def listen(self, listener: Listener) -> None:
        """Reports all further revisions to a listener, after the cache has them."""
        self._cache.listen(listener)

    def unlisten(self, listener: Listener) -> None:
        """Ends the reports to a listener."""
        self._cache.unlisten(listener)

    async def range(self, prefix: str, after: str = "", limit: int = 0, at: int | None = None) -> Page:
        try:
            return self._cache.held_page(prefix, after, limit, at)
        except NotHeld:
            return await self._cache.range(prefix, after, limit, at)
