"""Large work in slices: a request that reads, selects or writes many objects lets other requests run after each slice.

All objects of one response are read at the same revision, regardless of the duration of the slices.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

from setpoint.server.registry.resource import Resource
from setpoint.server.registry.selectors import ObjectSelector
from setpoint.server.request.context import Context
from setpoint.store.cached import Range, Wanted
from setpoint.store.contract import Item, NotHeld, Page, StateReads, TooLate

# The number of objects that one slice reads from memory, or compares with a selector: some tenths of a millisecond.
READ, COMPARED = 256, 128
# The number of rows of Tables, and of other forms that need decoded objects, in one slice.
TABLE_ROWS = 12
_WEIGHED = 4096
# The number of attempts of a read whose revision is compacted before its end.
_ATTEMPTS = 3


@runtime_checkable
class Scanning(Protocol):
    """A store that reads a part of a range at a revision from memory, without counting the rest of the range."""

    async def holds(self, prefix: str) -> bool:
        """Returns True if the objects with a prefix are in memory."""

    def scan(self, prefix: str, after: str, limit: int, at: int | None) -> Sequence[Item]:
        """Raises NotHeld if the objects are not in memory at the revision."""


def slices(items: Sequence[Item], objects: int, size: int) -> Iterator[Sequence[Item]]:
    """Yields the items in order, in slices of up to `objects` items; a slice ends earlier after `size` bytes."""
    start = total = 0
    for place, item in enumerate(items):
        if place > start and (place - start >= objects or total >= size):
            yield items[start:place]
            start, total = place, 0
        total += len(item.value)
    if start < len(items):
        yield items[start:]


async def ranged(
    context: Context,
    store: StateReads,
    prefix: str,
    after: str = "",
    limit: int = 0,
    at: int | None = None,
    scope: str = "",
) -> Page:
    """Reads a range of the store in slices. Records on the seat of the request the number of objects and bytes read,
    and the total in the scope, which is the prefix by default."""
    if context.seat is not None and not scope:
        # Waits before reading, so that a waiting request holds no objects in memory.
        await context.seat.expect(prefix, limit)
    page = await _sliced(context, store, prefix, after, limit, at)
    if context.seat is not None:
        size = await weighed(context, page.items)
        total = len(page.items) + page.remaining if not after else 0
        context.seat.scanned(scope or prefix, len(page.items), size, total)
    return page


async def indexed(
    context: Context, store: StateReads, wanted: Sequence[Wanted], within: Range, user: str | None = None
) -> Page | None:
    """Reads the objects with wanted terms from an index, and possibly others. Returns None if the index does not have
    them, or not all writes that the reads have: the caller then reads all objects. The index counts for the user of the
    request unless another is given."""
    indexes = context.services.term_indexes
    if indexes is None or not wanted:
        return None
    newest = await store.revision()
    found = await indexes.select(context.user.name if user is None else user, wanted, within, context.pause)
    # If other servers write to the store, the index may be behind.
    if found is None or (within.at is None and found.revision < newest):
        return None
    if context.seat is not None:
        context.seat.scanned(within.prefix, len(found.items), await weighed(context, found.items))
    return Page(found.items, found.revision, int(found.more))


async def matching(
    context: Context, resource: Resource, selector: ObjectSelector, user: str | None = None
) -> list[Item]:
    """Returns the current objects that a selector matches, for a request that is no list of these objects."""
    store = context.services.store
    page = await indexed(context, store, selector.wanted, Range(selector.prefix), user)
    if page is None:
        page = await _sliced(context, store, selector.prefix)
    held = () if resource.fetch is None else await resource.prepare(selector.unread(page.items))
    found: list[Item] = []
    for place, item in enumerate(page.items, 1):
        if place % COMPARED == 0:
            await context.pause()
        if selector.matches(item.key, item.value, item.revision):
            found.append(item)
    del held
    return found


async def weighed(context: Context, items: Sequence[Item]) -> int:
    """Returns the total number of bytes of the items."""
    total = 0
    for start in range(0, len(items), _WEIGHED):
        if start:
            await context.pause()
        total += sum([len(item.value) for item in items[start : start + _WEIGHED]])
    return total


async def _sliced(
    context: Context, store: StateReads, prefix: str, after: str = "", limit: int = 0, at: int | None = None
) -> Page:
    """Reads a range of the store, in slices if the objects are in memory."""
    # A page of a resource that is not in memory yet does not wait for the whole resource.
    if not isinstance(store, Scanning) or 0 < limit <= READ or not (limit or await store.holds(prefix)):
        return await store.range(prefix, after, limit, at)
    return await _scanned(context, store, prefix, after, limit, at)


async def _scanned(context: Context, store: StateReads, prefix: str, after: str, limit: int, at: int | None) -> Page:
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
        except NotHeld:
            break
        except TooLate:
            if at is not None:
                raise
        else:
            return Page(items, revision, len(last.items) + last.remaining)
    return await store.range(prefix, after, limit, at)
