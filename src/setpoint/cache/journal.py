"""The journal of an informer: its last changes by revision, so that who has seen a state can go on from there.

    page, since = query.page(50), informer.mark()
    async with informer.watch(since, where=query) as changes:
        async for change in changes: ...

It is kept from the first time that somebody asks for it. Where it does not go back far enough, and where what was told
does not lead on (the server lost its state and counts anew, the informer was stopped, the reader was too slow), the
reader is told so: `Reset` means to ask anew. Nothing is left out in silence.
"""

import asyncio
from collections import deque
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Generic, NamedTuple, Self, TypeVar

from setpoint.cache.change import Change
from setpoint.cache.revision import number

if TYPE_CHECKING:
    from setpoint.cache.query import Query

T = TypeVar("T")

# How many changes are kept; a reader may be as many behind.
MOST_CHANGES = 1000


class Reset(Exception):  # noqa: N818 - says what is
    """What was known is nothing to go on from any more: ask anew, and watch from the revision of that."""


class _Entry(NamedTuple, Generic[T]):
    revision: int
    change: Change[T]


class Journal(Generic[T]):
    """The last changes of one informer."""

    def __init__(self, revision: str) -> None:
        # Complete for everything after this revision; None: not even that is known.
        self._since = number(revision)
        self._entries: deque[_Entry[T]] = deque()
        self._readers: set[Watching[T]] = set()

    def read(self, since: str, where: "Query[T] | None") -> "Watching[T]":
        """The changes after a revision, those there were and those to come. Raises Reset where it does not know all."""
        revision = number(since)
        if revision is None or self._since is None or revision < self._since:
            known = "none" if self._since is None else f"revision {self._since} on"
            raise Reset(
                f"what changed after {since or 'no revision'} is not known any more, only what did from {known}"
            )
        reader = Watching(self, where)
        for entry in self._entries:
            if entry.revision > revision:
                reader.hear(entry.change)
        self._readers.add(reader)
        return reader

    @property
    def is_complete(self) -> bool:
        """Whether there is a revision to go on from."""
        return self._since is not None

    def leave(self, reader: "Watching[T]") -> None:
        self._readers.discard(reader)

    # What the informer calls.

    def record(self, changes: "Iterable[Change[T]]", resource_version: str) -> None:
        """What a watch has told, or what a list shows to have happened meanwhile, as of a revision."""
        revision = number(resource_version)
        if revision is None:
            self._since = None
            self._entries.clear()
        for change in changes:
            if revision is not None:
                self._entries.append(_Entry(revision, change))
                if len(self._entries) > MOST_CHANGES:
                    self._since = self._entries.popleft().revision
            for reader in list(self._readers):
                reader.hear(change)

    def reset(self, why: str) -> None:
        """Nothing that was told leads on."""
        self._since = None
        self._entries.clear()
        for reader in list(self._readers):
            reader.end(why)
        self._readers.clear()


class Watching(Generic[T]):
    """A reader of a journal. Leaving the context ends it."""

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
        self._journal.leave(self)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Change[T]:
        """The next change, as soon as there is one. Raises Reset."""
        while not self._waiting:
            if self._ended:
                raise Reset(self._ended)
            self._more.clear()
            await self._more.wait()
        return self._waiting.popleft()

    # What the journal calls.

    def hear(self, change: Change[T]) -> None:
        """A change, as it is for who looks at a part: what comes into that part comes, what leaves it goes."""
        if self._matches is not None:
            old = change.old if change.old is not None and self._matches(change.old) else None
            new = change.new if change.new is not None and self._matches(change.new) else None
            if old is None and new is None:
                return
            change = change._replace(old=old, new=new)
        self._waiting.append(change)
        if len(self._waiting) > MOST_CHANGES:
            self._waiting.clear()
            self._journal.leave(self)
            self.end(f"more than {MOST_CHANGES} changes were not read")
        self._more.set()

    def end(self, why: str) -> None:
        """What is waiting may still be read; then it is over."""
        self._ended = f"{why}: ask anew"
        self._more.set()
