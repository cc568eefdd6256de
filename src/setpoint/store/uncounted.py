"""Pages of a long read, without the number of the items after each page: counting them all for every page costs the
square of their number."""

from typing import Protocol, runtime_checkable

from setpoint.store.contract import Page, StateReads


@runtime_checkable
class UncountedReads(Protocol):
    """A store whose pages cost less without counting."""

    async def uncounted(self, prefix: str, after: str, limit: int, at: int | None = None) -> Page:
        """Returns the page of `range`. `remaining` is 1 if there may be further items."""


async def uncounted_page(store: StateReads, prefix: str, after: str, limit: int, at: int | None = None) -> Page:
    """Returns the page of `range`. `remaining` is not 0 if there may be further items."""
    if isinstance(store, UncountedReads):
        return await store.uncounted(prefix, after, limit, at)
    return await store.range(prefix, after, limit, at)
