"""A client of the API that records its operations: gets, lists, pages, watches and writes of ConfigMaps."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any
from urllib.parse import urlencode

from tests.consistency.history import (
    ANY_AGE,
    BOOKMARK,
    CONFLICT,
    CONSISTENT,
    DONE,
    EXACT,
    EXISTS,
    EXPIRED,
    MISSING,
    NOT_OLDER,
    UNKNOWN,
    Event,
    History,
    Listing,
    Read,
    Scope,
    Version,
    Watch,
    Write,
)
from tests.consistency.world import Interrupted, Servers

from setpoint.objects.tree import Object
from setpoint.server.message import Frame, Request, Response, Stream

_ENDS_INITIAL = "k8s.io/initial-events-end"


def version_of(tree: Object) -> Version:
    """Returns the version that an object of a response is."""
    metadata = tree["metadata"].copy()
    revision = int(metadata.pop("resourceVersion"))
    content = {name: value for name, value in tree.items() if name not in ("apiVersion", "kind")}
    return Version(
        f"{metadata['namespace']}/{metadata['name']}",
        revision,
        json.dumps(content | {"metadata": metadata}, sort_keys=True),
        metadata["uid"],
        tree["data"]["mark"],
        metadata.get("labels", {}).get("color", ""),
    )


def _path(namespace: str, name: str = "") -> str:
    within = f"/namespaces/{namespace}" if namespace else ""
    return f"/api/v1{within}/configmaps" + (f"/{name}" if name else "")


def _body(response: Response) -> Any:
    assert isinstance(response.body, bytes | list)
    return json.loads(response.body if isinstance(response.body, bytes) else b"".join(response.body))


class Sink:
    """The client's end of a watch. A slow client reads on only after `delay` has returned."""

    def __init__(self, history: History, watch: Watch, delay: Callable[[], Awaitable[None]] | None = None) -> None:
        self._history = history
        self._watch = watch
        self._delay = delay
        self._ended = asyncio.Event()

    def write(self, frame: Frame) -> bool:
        if self.closed:
            return False
        for line in frame.payload.splitlines():
            event = json.loads(line)
            tree, moment = event["object"], self._history.moment()
            if event["type"] == "ERROR":
                assert tree["code"] == 410, tree
                self._watch.expired = moment
                self._watch.is_open = False
                continue
            revision = int(tree["metadata"]["resourceVersion"])
            if event["type"] == BOOKMARK:
                ends = _ENDS_INITIAL in tree["metadata"].get("annotations", {})
                self._watch.events.append(Event(moment, BOOKMARK, revision, ends_initial=ends))
            else:
                self._watch.events.append(Event(moment, event["type"], revision, version_of(tree)))
        return True

    async def drain(self) -> bool:
        if self._delay is not None:
            self._history.delays += 1
            await self._delay()
        await asyncio.sleep(0)
        return not self.closed

    @property
    def closed(self) -> bool:
        return self._ended.is_set()

    async def wait_closed(self) -> None:
        await self._ended.wait()

    def close(self) -> None:
        self._ended.set()

    def lose(self) -> None:
        """Ends the watch with its server: later events are missing."""
        self._watch.is_open = False
        self.close()


@dataclass
class OpenWatch:
    """A watch under way: its record and the task that runs its stream."""

    record: Watch
    sink: Sink
    task: asyncio.Task[None]

    async def close(self, *, complete: bool = False) -> None:
        """Ends the watch. Unless the watch is complete, later events may be missing from its record."""
        self.record.is_open = self.record.is_open and complete
        self.sink.close()
        await asyncio.gather(self.task, return_exceptions=True)


@dataclass
class Client:
    """One client, which always uses the same server."""

    name: str
    world: Servers
    history: History
    place: int = 0
    opened: list[OpenWatch] = field(default_factory=list)
    _marks: int = 0

    async def _ask(
        self, method: str, path: str, body: Object | None = None, query: Mapping[str, Any] | None = None
    ) -> Response:
        data = b"" if body is None else json.dumps(body).encode()
        headers = {"content-type": "application/json", "user-agent": "consistency"}
        return await self.world.call(self.place, Request(method, path, urlencode(query or {}), headers, data))

    # Writing

    async def write(
        self,
        key: str,
        *,
        color: str = "",
        creates: bool = False,
        expect: Version | None = None,
        count: int = 0,
        padding: int = 0,
    ) -> Version | None:
        """Creates or replaces an object. Returns the written version; None if the write was refused or lost."""
        namespace, _, name = key.partition("/")
        self._marks += 1
        mark = f"{self.name}-{self._marks}"
        metadata: Object = {"name": name, "labels": {"color": color} if color else {}}
        if expect is not None:
            metadata["resourceVersion"] = str(expect.revision)
        data = {"mark": mark, "count": str(count), "padding": "x" * padding}
        tree: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
        start, revision = self.history.moment(), expect.revision if expect else None
        path = _path(namespace) if creates else _path(namespace, name)
        try:
            response = await self._ask("POST" if creates else "PUT", path, tree)
        except Interrupted:
            self.history.writes.append(Write(self.name, start, inf, key, mark, UNKNOWN, creates, revision))
            return None
        answer, end = _body(response), self.history.moment()
        outcome, version = DONE, None
        if response.status in (200, 201):
            version = version_of(answer)
        else:
            outcome = {"AlreadyExists": EXISTS, "Conflict": CONFLICT, "NotFound": MISSING}[answer["reason"]]
            if outcome == CONFLICT:
                assert expect is not None, answer
        self.history.writes.append(Write(self.name, start, end, key, mark, outcome, creates, revision, version))
        return version

    async def delete(self, key: str) -> None:
        namespace, _, name = key.partition("/")
        start = self.history.moment()
        try:
            response = await self._ask("DELETE", _path(namespace, name))
        except Interrupted:
            self.history.writes.append(Write(self.name, start, inf, key, "", UNKNOWN))
            return
        answer, end = _body(response), self.history.moment()
        if response.status == 404:
            self.history.writes.append(Write(self.name, start, end, key, "", MISSING))
            return
        assert response.status == 200, answer
        self.history.writes.append(Write(self.name, start, end, key, "", DONE, uid=answer["details"]["uid"]))

    # Reading

    async def get(self, key: str, mode: str = CONSISTENT, revision: int = 0) -> Version | None:
        namespace, _, name = key.partition("/")
        query: dict[str, Any] = {}
        if mode == EXACT:
            query["at"] = revision
        elif mode != CONSISTENT:
            query["resourceVersion"] = revision if mode == NOT_OLDER else 0
        start = self.history.moment()
        try:
            response = await self._ask("GET", _path(namespace, name), None, query)
        except Interrupted:
            return None
        answer, end = _body(response), self.history.moment()
        version, outcome = None, DONE
        if response.status == 200:
            version = version_of(answer)
        elif response.status == 410:
            outcome = EXPIRED
        else:
            assert response.status == 404, answer
        self.history.reads.append(Read(self.name, start, end, key, version, mode, revision, outcome))
        return version

    async def list(self, scope: Scope, mode: str = CONSISTENT, revision: int = 0, limit: int = 0) -> Listing | None:
        """Lists a scope, with a limit page by page. Returns the first page; None if there is none."""
        query: dict[str, Any] = {"limit": limit} if limit else {}
        if mode == ANY_AGE:
            query["resourceVersion"] = 0
        elif mode != CONSISTENT:
            query |= {"resourceVersion": revision, "resourceVersionMatch": "Exact" if mode == EXACT else "NotOlderThan"}
        # As on kube-apiserver, a list of any age has no pages.
        first = page = await self._page(scope, query, mode, revision, 0 if mode == ANY_AGE else limit)
        while page is not None and page[1]:
            listing, token = page
            await asyncio.sleep(0)
            query = {"limit": limit, "continue": token}
            page = await self._page(scope, query, mode, listing.revision, limit, listing.items[-1].key)
        return None if first is None else first[0]

    async def _page(
        self, scope: Scope, query: dict[str, Any], mode: str, wanted: int, limit: int, after: str = ""
    ) -> tuple[Listing, str] | None:
        start = self.history.moment()
        try:
            response = await self._ask("GET", _path(scope.namespace), None, query | _selectors(scope))
        except Interrupted:
            return None
        answer, end = _body(response), self.history.moment()
        if response.status == 410:
            listing = Listing(self.name, start, end, scope, mode=mode, wanted=wanted, after=after, outcome=EXPIRED)
            self.history.listings.append(listing)
            return None
        assert response.status == 200, answer
        metadata = answer["metadata"]
        token = metadata.get("continue", "")
        listing = Listing(
            self.name,
            start,
            end,
            scope,
            tuple(version_of(item) for item in answer["items"]),
            int(metadata["resourceVersion"]),
            mode,
            wanted,
            limit,
            after,
            bool(token),
            metadata.get("remainingItemCount"),
        )
        self.history.listings.append(listing)
        return listing, token

    # Watching

    async def watch(
        self,
        scope: Scope,
        after: int | None = None,
        *,
        bookmarks: bool = True,
        mode: str = CONSISTENT,
        wanted: int = 0,
        delay: Callable[[], Awaitable[None]] | None = None,
        observes: bool = False,
    ) -> OpenWatch | None:
        """Opens a watch after a revision, or with initial events. Returns None if the server ended meanwhile."""
        query: dict[str, Any] = {"watch": 1} | ({"allowWatchBookmarks": 1} if bookmarks else {})
        if after is not None:
            query["resourceVersion"] = after
        elif bookmarks:
            query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
            query["resourceVersion"] = {CONSISTENT: "", ANY_AGE: "0"}.get(mode, wanted)
        record = Watch(self.name, self.history.moment(), scope, after, bookmarks, mode, wanted)
        try:
            response = await self._ask("GET", _path(scope.namespace), None, query | _selectors(scope))
        except Interrupted:
            return None
        assert not isinstance(response.body, bytes | list), response.body
        assert response.status == 200
        (self.history.observers if observes else self.history.watches).append(record)
        sink = Sink(self.history, record, delay)
        opened = OpenWatch(record, sink, asyncio.create_task(_run(response.body, sink, record)))
        self.opened.append(opened)
        return opened


async def _run(stream: Stream, sink: Sink, record: Watch) -> None:
    """Runs the stream of a watch, and records an error of the server."""
    try:
        await stream.run(sink)
    except Exception as error:
        record.failure = repr(error)
        raise


def _selectors(scope: Scope) -> dict[str, Any]:
    query: dict[str, Any] = {}
    if scope.color:
        query["labelSelector"] = f"color={scope.color}"
    if scope.name:
        query["fieldSelector"] = f"metadata.name={scope.name}"
    return query
