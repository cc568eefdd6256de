"""Large work in slices: a request that reads, selects or writes many objects lets others run after some of them.

Everything that is answered together is read at one revision, however long the slices take.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

from setpoint.server.request.context import Context
from setpoint.store.contract import Item, Page, Store, TooLate

# Objects that are read from memory, and that are compared with a selector, in one slice: some tenths of a millisecond.
READ, COMPARED = 256, 128
# Rows of Tables, and other forms that take an object apart, that are made in one slice.
TABLE_ROWS = 12
_WEIGHED = 4096
# How often a read begins again because its revision was compacted in the middle of it.
_ATTEMPTS = 3


@runtime_checkable
class Scanning(Protocol):
    """A store that reads a part of a range at a revision without counting the rest of it."""

    def scan(self, prefix: str, after: str, limit: int, at: int | None) -> Sequence[Item]: ...


def slices(items: Sequence[Item], objects: int, size: int) -> Iterator[Sequence[Item]]:
    """The items in order, so many of them at a time, or fewer if they have so many bytes together."""
    start = total = 0
    for place, item in enumerate(items):
        if place > start and (place - start >= objects or total >= size):
            yield items[start:place]
            start, total = place, 0
        total += len(item.value)
    if start < len(items):
        yield items[start:]


async def ranged(
    context: Context, prefix: str, after: str = "", limit: int = 0, at: int | None = None, scope: str = ""
) -> Page:
    """As the store's `range`, in slices. It is noted for the request how much was read, and how much there is in the
    scope, which is the prefix itself by default."""
    store = context.services.store
    if context.seat is not None and not scope:
        # Before it is read: a request that waits for room should hold nothing yet.
        await context.seat.expect(prefix, limit)
    if not isinstance(store, Scanning) or 0 < limit <= READ:
        page = await store.range(prefix, after, limit, at)
    else:
        page = await _scanned(context, store, prefix, after, limit, at)
    if context.seat is not None:
        size = await weighed(context, page.items)
        total = len(page.items) + page.remaining if not after else 0
        context.seat.scanned(scope or prefix, len(page.items), size, total)
    return page


async def weighed(context: Context, items: Sequence[Item]) -> int:
    """Returns how many bytes items have together."""
    total = 0
    for start in range(0, len(items), _WEIGHED):
        if start:
            await context.pause()
        total += sum([len(item.value) for item in items[start : start + _WEIGHED]])
    return total


async def _scanned(context: Context, store: Store, prefix: str, after: str, limit: int, at: int | None) -> Page:
    assert isinstance(store, Scanning)
    for _ in range(_ATTEMPTS):
        revision = await store.revision() if at is None else at
        items: list[Item] = []
        try:
            while not limit or len(items) < limit:
                wanted = min(READ, limit - len(items)) if limit else READ
                found = store.scan(prefix, items[-1].key if items else after, wanted, revision)
                items += found
                if len(found) < wanted:
                    return Page(items, revision, 0)
                await context.pause()
            last = await store.range(prefix, items[-1].key, 1, revision)
        except TooLate:
            if at is not None:
                raise
        else:
            return Page(items, revision, len(last.items) + last.remaining)
    return await store.range(prefix, after, limit, at)
