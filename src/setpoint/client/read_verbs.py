"""The read verbs: get, list with paging, and watch."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, Unpack, overload

from setpoint.client.kinds import Kind, KindRef, R, kind_of
from setpoint.client.list_result import PAGE, Listing, read_list
from setpoint.client.options import ListOptions, WatchOptions
from setpoint.client.requests import JSON, Requests, accept_of, decode, headers_of, metadata_of, query_of
from setpoint.client.selectors import fields_text, labels_text
from setpoint.client.transport import Call, Stream
from setpoint.client.watch import RawEvent, WatchEvent, raw_events, read_event
from setpoint.objects.clock import Clock
from setpoint.objects.errors import Expired, Gone, NotFound
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.tree import Object

if TYPE_CHECKING:  # imported when used
    from setpoint.client.wait import Until

_METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
# A watch that the server should have ended, and on which no data arrives, belongs to a dead connection.
_STALL_GRACE_SECONDS = 30.0


class Reading(Requests):
    """The read verbs of a client."""

    @overload
    async def get(
        self,
        kind: type[R],
        name: str,
        namespace: str = "",
        *,
        at: int | None = None,
        resource_version: str = "",
        subresource: str = "",
    ) -> R: ...
    @overload
    async def get(
        self,
        kind: GroupVersionKind | str | KindRef,
        name: str,
        namespace: str = "",
        *,
        at: int | None = None,
        resource_version: str = "",
        subresource: str = "",
    ) -> Object: ...
    async def get(
        self,
        kind: Kind[Any],
        name: str,
        namespace: str = "",
        *,
        at: int | None = None,
        resource_version: str = "",
        subresource: str = "",
    ) -> Any:
        """Reads one object. `at` reads a past revision, supported by Setpoint's own server only. With
        `resource_version`, the server may answer from any state that is not older."""
        ref = kind_of(kind)
        query = query_of(at=str(at) if at is not None else "", resourceVersion=resource_version)
        answer = await self._call(
            ref, "GET", name=name, namespace=namespace, subresource=subresource, query=query, accept=accept_of(ref)
        )
        return ref.read(decode(answer.body))

    @overload
    async def list(self, kind: type[R], namespace: str = "", **how: Unpack[ListOptions]) -> Listing[R]: ...
    @overload
    async def list(
        self, kind: GroupVersionKind | str | KindRef, namespace: str = "", **how: Unpack[ListOptions]
    ) -> Listing[Object]: ...
    async def list(self, kind: Kind[Any], namespace: str = "", **how: Unpack[ListOptions]) -> Listing[Any]:
        """Lists the objects of a kind. Without a limit, reads all pages.

        If the continue token expires while the pages are read, reads the whole list again in one request.
        """
        ref = kind_of(kind)
        if how.get("limit"):
            return read_list(await self.raw_list(ref, namespace, **how), ref)
        found: list[Any] = []
        next_: ListOptions = {**how, "limit": PAGE}
        while True:
            try:
                page = read_list(await self.raw_list(ref, namespace, **next_), ref)
            except (Expired, Gone):
                if not found:
                    raise
                return read_list(await self.raw_list(ref, namespace, **_unpaged(how)), ref)
            found += page.items
            if not page.continue_:
                return page._replace(items=found)
            next_ = _after(next_, page.continue_)

    @overload
    def pages(self, kind: type[R], namespace: str = "", **how: Unpack[ListOptions]) -> AsyncIterator[Listing[R]]: ...
    @overload
    def pages(
        self, kind: GroupVersionKind | str | KindRef, namespace: str = "", **how: Unpack[ListOptions]
    ) -> AsyncIterator[Listing[Object]]: ...
    async def pages(self, kind: Kind[Any], namespace: str = "", **how: Unpack[ListOptions]) -> Any:
        """Yields the pages of a list, each with `limit` objects (500 by default), so that not all objects are in memory
        at once. No object is returned twice: if the continue token expires, the last page has the objects of a new list
        that were not returned before."""
        ref = kind_of(kind)
        next_: ListOptions = {"limit": PAGE, **how}
        seen: set[tuple[str, str]] = set()
        while True:
            try:
                page = read_list(await self.raw_list(ref, namespace, **next_), ref)
            except (Expired, Gone):
                if not seen:
                    raise
                whole = read_list(await self.raw_list(ref, namespace, **_unpaged(how)), ref)
                yield whole._replace(items=[item for item in whole.items if _key(item) not in seen])
                return
            seen.update(map(_key, page.items))
            yield page
            if not page.continue_:
                return
            next_ = _after(next_, page.continue_)

    @overload
    def each(self, kind: type[R], namespace: str = "", **how: Unpack[ListOptions]) -> AsyncIterator[R]: ...
    @overload
    def each(
        self, kind: GroupVersionKind | str | KindRef, namespace: str = "", **how: Unpack[ListOptions]
    ) -> AsyncIterator[Object]: ...
    async def each(self, kind: Kind[Any], namespace: str = "", **how: Unpack[ListOptions]) -> Any:
        """Yields the objects of a list one by one. The next page is read when the previous one is consumed."""
        async for page in self.pages(kind_of(kind), namespace, **how):
            for item in page.items:
                yield item

    async def raw_list(self, kind: Kind[Any], namespace: str = "", **how: Unpack[ListOptions]) -> bytes:
        """Returns one page of a list as the bytes of the server's answer."""
        ref = kind_of(kind)
        limit, at = how.get("limit", 0), how.get("at")
        query = query_of(
            labelSelector=labels_text(how.get("labels")),
            fieldSelector=fields_text(how.get("fields")),
            limit=str(limit) if limit else "",
            **{"continue": how.get("continue_", "")},
            resourceVersion=how.get("resource_version", ""),
            resourceVersionMatch=how.get("resource_version_match", ""),
            at=str(at) if at is not None else "",
        )
        accept = _METADATA_LIST if ref.metadata_only else JSON
        return (await self._call(ref, "GET", namespace=namespace, query=query, accept=accept)).body

    @overload
    def watch(
        self, kind: type[R], namespace: str = "", **how: Unpack[WatchOptions]
    ) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent[R]]]: ...
    @overload
    def watch(
        self, kind: GroupVersionKind | str | KindRef, namespace: str = "", **how: Unpack[WatchOptions]
    ) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent[Object]]]: ...
    def watch(self, kind: Kind[Any], namespace: str = "", **how: Unpack[WatchOptions]) -> Any:
        """Watches the objects of a kind, from a resource version or from now on. Use as an async context manager, which
        yields an iterator of events."""
        return self._watch(kind_of(kind), namespace, how)

    @asynccontextmanager
    async def _watch(
        self, ref: KindRef, namespace: str, how: WatchOptions
    ) -> AsyncIterator[AsyncIterator[WatchEvent[Any]]]:
        async with self.raw_watch(ref, namespace, **how) as events:

            async def read() -> AsyncIterator[WatchEvent[Any]]:
                async for event in events:
                    yield read_event(event, ref)

            yield read()

    @asynccontextmanager
    async def raw_watch(
        self, kind: Kind[Any], namespace: str = "", **how: Unpack[WatchOptions]
    ) -> AsyncIterator[AsyncIterator[RawEvent]]:
        """Watches like `watch`, with undecoded objects."""
        ref = kind_of(kind)
        initial, timeout = how.get("initial_events", False), how.get("timeout")
        query = query_of(
            watch="true",
            labelSelector=labels_text(how.get("labels")),
            fieldSelector=fields_text(how.get("fields")),
            resourceVersion=how.get("resource_version", ""),
            allowWatchBookmarks="true" if how.get("bookmarks", True) or initial else "",
            sendInitialEvents="true" if initial else "",
            resourceVersionMatch="NotOlderThan" if initial else "",
            timeoutSeconds=str(max(int(timeout), 1)) if timeout is not None else "",
        )
        path = await self._path(ref, "", namespace)
        patience = how.get("stall", None if timeout is None else timeout + _STALL_GRACE_SECONDS)
        try:
            async with self.stream(Call("GET", path, query, headers_of(accept_of(ref)))) as stream:
                if patience is None:
                    yield raw_events(stream)
                    return
                monitored = _MonitoredStream(stream, self.clock)
                watching = asyncio.ensure_future(monitored.guard(patience))
                try:
                    yield raw_events(monitored)
                finally:
                    watching.cancel()
        except NotFound as error:
            if not error.name:
                self.mapper.evict(ref.gvk)  # the resource does not exist any more: look the kind up again next time
            raise

    @overload
    async def wait_for(
        self, kind: type[R], name: str, namespace: str = "", until: "Until" = ..., *, timeout: float | None = None
    ) -> R | None: ...
    @overload
    async def wait_for(
        self,
        kind: GroupVersionKind | str | KindRef,
        name: str,
        namespace: str = "",
        until: "Until" = ...,
        *,
        timeout: float | None = None,
    ) -> Object | None: ...
    async def wait_for(
        self,
        kind: Kind[Any],
        name: str,
        namespace: str = "",
        until: "Until" = "create",
        *,
        timeout: float | None = None,
    ) -> Any:
        """Watches an object until a condition is met, and returns the object, or None if the object does not exist.

        `until` is `"create"`, `"delete"`, `"condition=Ready"`, `"condition=Ready=False"`, `"jsonpath={.status.phase}"`,
        `"jsonpath={.status.phase}=Running"`, or a function of the object (None while the object does not exist). Raises
        TimeoutError.
        """
        from setpoint.client.wait import wait_for

        return await wait_for(self, kind_of(kind), name, namespace, until, timeout)


class _MonitoredStream:
    """A stream that records the time of its last data, and is cut off after too long a silence."""

    def __init__(self, stream: Stream, clock: Clock) -> None:
        self.answer = stream.answer
        self.cut = stream.cut
        self._stream = stream
        self._clock = clock
        self._at = clock.monotonic()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            self._at = self._clock.monotonic()
            yield piece

    async def guard(self, seconds: float) -> None:
        while (left := self._at + seconds - self._clock.monotonic()) > 0:
            await self._clock.sleep(left)
        self.cut(f"the watch stalled: no data for {seconds:g} s")


def _after(how: ListOptions, continue_: str) -> ListOptions:
    """Returns the options for the next page."""
    return {**how, "continue_": continue_, "resource_version": "", "resource_version_match": ""}


def _unpaged(how: ListOptions) -> ListOptions:
    """Returns the options for the whole list in one page."""
    return {**how, "limit": 0, "continue_": ""}


def _key(item: Any) -> tuple[str, str]:
    if isinstance(item, dict):
        metadata = metadata_of(item)
        return metadata.get("namespace", ""), metadata.get("name", "")
    return item.metadata.namespace or "", item.metadata.name or ""
