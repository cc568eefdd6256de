"""The journal of an informer: the last changes by revision, so that a reader can continue from a known state.

    page, since = query.page(50), informer.mark()
    async with informer.watch(since, where=query) as changes:
        async for change in changes: ...

Recording starts with the first use. If the journal does not reach back far enough, or the changes are no longer
continuous (the server lost its state, the informer was stopped, the reader was too slow), the reader gets a `Reset`,
and must query again. No change is left out silently.
"""

import asyncio
from collections import deque
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Generic, NamedTuple, Self, TypeVar

from setpoint.cache.change import Change
from setpoint.cache.entry import number

if TYPE_CHECKING:
    from setpoint.cache.query import Query

T = TypeVar("T")

# The maximum number of recorded changes, and of pending changes of a reader.
MOST_CHANGES = 1000


class Reset(Exception):  # noqa: N818 - named for the state
    """The changes after the known state are not available: query again, and watch from the resource version of that
    query."""


class _JournalEntry(NamedTuple, Generic[T]):
    revision: int
    change: Change[T]


class Journal(Generic[T]):
    """The last changes of one informer."""

    def __init__(self, revision: str) -> None:
        # The journal is complete after this revision; None if no revision is known.
        self._since = number(revision)
        self._entries: deque[_JournalEntry[T]] = deque()
        self._readers: set[JournalReader[T]] = set()

    def read(self, since: str, where: "Query[T] | None") -> "JournalReader[T]":
        """Returns a reader of the changes after a revision: the recorded and the future ones. Raises Reset if not all
        of them are recorded."""
        revision = number(since)
        if revision is None or self._since is None or revision < self._since:
            known = "none" if self._since is None else f"those after revision {self._since}"
            raise Reset(f"the changes after {since or 'no revision'} are not available, only {known}")
        reader = JournalReader(self, where)
        for entry in self._entries:
            if entry.revision > revision:
                reader.on_change(entry.change)
        self._readers.add(reader)
        return reader

    @property
    def is_complete(self) -> bool:
        """True if there is a revision to continue from."""
        return self._since is not None

    def unsubscribe(self, reader: "JournalReader[T]") -> None:
        self._readers.discard(reader)

    # Called by the informer.

    def record(self, changes: "Iterable[Change[T]]", resource_version: str) -> None:
        """Records the changes of a watch event, or of a list, as of a revision."""
        revision = number(resource_version)
        if revision is None:
            self._since = None
            self._entries.clear()
        for change in changes:
            if revision is not None:
                self._entries.append(_JournalEntry(revision, change))
                if len(self._entries) > MOST_CHANGES:
                    self._since = self._entries.popleft().revision
            for reader in list(self._readers):
                reader.on_change(change)

    def reset(self, why: str) -> None:
        """Drops all changes, and ends all readers, because the changes are no longer continuous."""
        self._since = None
        self._entries.clear()
        for reader in list(self._readers):
            reader.end(why)
        self._readers.clear()


class JournalReader(Generic[T]):
    """A reader of a journal. Leaving the context ends the reader."""

    def __init__(self, journal: Journal[T], where: "Query[T] | None") -> None:
        self._journal = journal
        self._matches = None if where is None else where.matcher()
        self._waiting: deque[Change[T]] = deque()
        self._more = asyncio.Event()
        self._ended = ""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._journal.unsubscribe(self)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Change[T]:
        """Returns the next change, and waits for one if necessary. Raises Reset."""
        while not self._waiting:
            if self._ended:
                raise Reset(self._ended)
            self._more.clear()
            await self._more.wait()
        return self._waiting.popleft()

    # Called by the journal.

    def on_change(self, change: Change[T]) -> None:
        """Adds a change as seen by the reader's query: an object that starts to match is created, one that no longer
        matches is deleted."""
        if self._matches is not None:
            old = change.old if change.old is not None and self._matches(change.old) else None
            new = change.new if change.new is not None and self._matches(change.new) else None
            if old is None and new is None:
                return
            change = change._replace(old=old, new=new)
        self._waiting.append(change)
        if len(self._waiting) > MOST_CHANGES:
            self._waiting.clear()
            self._journal.unsubscribe(self)
            self.end(f"more than {MOST_CHANGES} changes were not read")
        self._more.set()

    def end(self, why: str) -> None:
        """Ends the reader after its pending changes."""
        self._ended = f"{why}: query again"
        self._more.set()
