"""The sources of an archive: a running server, or the directory of an ended session."""

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import NamedTuple, Protocol

import msgspec

from setpoint.client.client import Client
from setpoint.client.transport import Call
from setpoint.objects.clock import Clock
from setpoint.objects.errors import APIError
from setpoint.objects.times import format_time
from setpoint.past.archive.format import ArchivedRevision, LogOf
from setpoint.session.paths import Places
from setpoint.store.contract import LogEntry, Store
from setpoint.workload.kinds.api_names import GROUP, LOGGED, VERSION
from setpoint.workload.logs.log_store import LogStore
from setpoint.workload.logs.options import LogOptions

REVISIONS = "/apis/setpoint.dev/v1/revisions"
SOURCES = ("stdout", "stderr", "startup_stdout", "startup_stderr", "system")
# The first and the maximum number of entries per page, and the target size of a page.
_PAGE, _LARGEST_PAGE = 128, 4096
_PAGE_BYTES = 8 << 20
_LONGEST_LINE = 4 << 20


class Owner(NamedTuple):
    """A workload that may have logs."""

    uid: str
    kind: str
    name: str


class ArchiveSource(Protocol):
    """The log of revisions of a server, and the logs of its workloads."""

    @property
    def notes(self) -> Sequence[str]:
        """The objects that could not be read, with the reasons; complete after `entries`."""

    async def bounds(self) -> tuple[int, int]:
        """Returns the oldest revision at which all objects can be read, and the current revision."""

    def entries(self) -> AsyncIterator[Sequence[LogEntry]]:
        """Yields all stored entries in order, in pages."""

    async def logs(self, owners: Sequence[Owner]) -> Sequence[LogOf]:
        """Returns the existing logs of workloads."""

    def output(self, log: LogOf, since: datetime | None) -> AsyncIterator[bytes]:
        """Yields a log in pieces, with a timestamp on each line."""


class StoreSource:
    """The store and logs of an ended session."""

    notes: Sequence[str] = ()

    def __init__(self, store: Store, places: Places, clock: Clock) -> None:
        self._store = store
        self._logs = LogStore(places.workloads / "logs", clock)

    async def bounds(self) -> tuple[int, int]:
        return await self._store.oldest(), await self._store.revision()

    async def entries(self) -> AsyncIterator[Sequence[LogEntry]]:
        after, number = 0, _PAGE
        while entries := await self._store.log(after, number):
            yield entries
            after = entries[-1].revision
            # Values are reconstructed from earlier ones: larger pages need less work per value.
            size = sum(len(entry.value or b"") for entry in entries)
            number = min(2 * number, _LARGEST_PAGE) if size < _PAGE_BYTES else max(number // 2, 1)

    async def logs(self, owners: Sequence[Owner]) -> Sequence[LogOf]:
        known = {owner.uid: owner for owner in owners}
        return [
            LogOf(uid, source, known[uid].kind, known[uid].name) if uid in known else LogOf(uid, source)
            for uid, sources in self._logs.reopen().items()
            for source in sources
        ]

    async def output(self, log: LogOf, since: datetime | None) -> AsyncIterator[bytes]:
        async for piece in self._logs.read(log.uid, LogOptions(log.source, timestamps=True, since_time=since)):
            yield piece


class _Item(msgspec.Struct):
    """A revision in the server's API, with numbers as strings."""

    revision: str
    time: str
    key: str
    created: str
    value: msgspec.Raw
    previous: str = "0"
    actor: msgspec.Raw = msgspec.Raw(b"{}")
    cause: msgspec.Raw = msgspec.Raw(b"null")
    purged: msgspec.Raw = msgspec.Raw(b"null")


class _LogMetadata(msgspec.Struct, rename="camel"):
    resource_version: str
    oldest: str
    continue_: str = msgspec.field(default="", name="continue")


class _Page(msgspec.Struct):
    metadata: _LogMetadata
    items: list[_Item]


class ServerSource:
    """A running server. Later writes are not included."""

    notes: Sequence[str] = ()

    def __init__(self, client: Client) -> None:
        self._client = client
        self._oldest = self._current = 0
        self._resources: dict[str, str] = {}

    async def bounds(self) -> tuple[int, int]:
        if not self._current:
            await self._page(0, 1)
        return self._oldest, self._current

    async def entries(self) -> AsyncIterator[Sequence[LogEntry]]:
        after = 0
        while True:
            page = await self._page(after)
            yield [_entry(item) for item in page.items]
            if not page.metadata.continue_:
                return
            after = int(page.metadata.continue_)

    async def _page(self, after: int, limit: int = _LARGEST_PAGE) -> _Page:
        query = [("objects", "true"), ("after", str(after)), ("limit", str(limit))]
        answer = await self._client.raw("GET", REVISIONS, query=query)
        page = msgspec.json.decode(answer.body, type=_Page)
        # Revisions compacted during the export raise the oldest revision.
        self._oldest = max(self._oldest, int(page.metadata.oldest))
        self._current = self._current or int(page.metadata.resource_version)
        return page

    async def logs(self, owners: Sequence[Owner]) -> Sequence[LogOf]:
        """Returns the logs of existing workloads; logs of deleted ones are gone."""
        there: set[str] = set()
        for resource in LOGGED:
            try:
                answer = await self._client.raw("GET", f"/apis/{GROUP}/{VERSION}/{resource}")
            except APIError:
                continue  # the server runs no workloads
            there |= {item["metadata"]["uid"] for item in msgspec.json.decode(answer.body)["items"]}
        return [
            LogOf(each.uid, source, each.kind, each.name) for each in owners if each.uid in there for source in SOURCES
        ]

    async def output(self, log: LogOf, since: datetime | None) -> AsyncIterator[bytes]:
        resource = next(resource for resource, kind in LOGGED.items() if kind == log.kind)
        query = [("source", log.source), ("timestamps", "true")]
        if since is not None:
            query.append(("since_time", format_time(since)))
        call = Call("GET", f"/apis/{GROUP}/{VERSION}/{resource}/{log.name}/log", query, {"accept": "*/*"})
        try:
            async with self._client.stream(call) as stream:
                async for piece in stream:
                    yield piece
        except APIError:
            return  # the workload has no such log


def _entry(item: _Item) -> LogEntry:
    line = msgspec.json.decode(
        b'{"revision":%d,"previous":%d,"created":%d,"time":%b,"key":%b,"actor":%b,"cause":%b,"purged":%b,'
        b'"value":null}'
        % (
            int(item.revision),
            int(item.previous),
            int(item.created),
            msgspec.json.encode(item.time),
            msgspec.json.encode(item.key),
            bytes(item.actor),
            bytes(item.cause),
            bytes(item.purged),
        ),
        type=ArchivedRevision,
    )
    value = bytes(item.value)
    return line.entry(None if value == b"null" else value)


async def lines(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yields the output in pieces that end with a complete line. Very long lines are split."""
    rest = b""
    async with aclosing(pieces):  # type: ignore[type-var]  # every one is a generator
        async for piece in pieces:
            end = piece.rfind(b"\n") + 1
            if not end and len(rest) + len(piece) < _LONGEST_LINE:
                rest += piece
            elif not end:
                yield rest + piece + b"\n"
                rest = b""
            else:
                yield rest + piece[:end]
                rest = piece[end:]
    if rest:
        yield rest + b"\n"
