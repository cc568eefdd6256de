"""Reading: one object, a list of them page by page, and a watch."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Unpack, overload

from setpoint.client.kinds import Kind, KindRef, R, kind_of
from setpoint.client.list_result import PAGE, Listing, read_list
from setpoint.client.options import ListOptions, WatchOptions
from setpoint.client.requests import JSON, Requests, accept_of, decode, headers_of, metadata_of, query_of
from setpoint.client.selectors import fields_text, labels_text
from setpoint.client.transport import Call, Stream
from setpoint.client.wait import Until, wait_for
from setpoint.client.watch import RawEvent, WatchEvent, raw_events, read_event
from setpoint.objects.clock import Clock
from setpoint.objects.errors import Expired, Gone, NotFound
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.tree import Object

_METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
# A watch that the server was to end by now and of which nothing is heard is a connection that nobody is at any more.
_STALL_GRACE_SECONDS = 30.0


class Reading(Requests):
    """The reading half of a client."""

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
        """One object. `at` asks our own server for the past; `resource_version`, for a state not older than that."""
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
        """The objects of a kind; all of them, page by page, unless a limit is given.

        Where the pages take so long that the server lets go of their revision, everything is read anew in one.
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
                return read_list(await self.raw_list(ref, namespace, **_whole(how)), ref)
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
        """The pages of a list as they come, each of `limit` objects (500 unless told otherwise), so that not all are in
        memory at once. No object comes twice: where the revision of the pages is no longer kept, the rest is what a new
        list has beside what came already."""
        ref = kind_of(kind)
        next_: ListOptions = {"limit": PAGE, **how}
        seen: set[tuple[str, str]] = set()
        while True:
            try:
                page = read_list(await self.raw_list(ref, namespace, **next_), ref)
            except (Expired, Gone):
                if not seen:
                    raise
                whole = read_list(await self.raw_list(ref, namespace, **_whole(how)), ref)
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
        """The objects of a list one by one; the next page is asked for when the last one is used up."""
        async for page in self.pages(kind_of(kind), namespace, **how):
            for item in page.items:
                yield item

    async def raw_list(self, kind: Kind[Any], namespace: str = "", **how: Unpack[ListOptions]) -> bytes:
        """One page of a list, as the server sent it."""
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
        """What happens to the objects of a kind, from a revision on, or from now."""
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
        """The same with objects as the server sent them."""
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
                heard = _Heard(stream, self.clock)
                watching = asyncio.ensure_future(heard.guard(patience))
                try:
                    yield raw_events(heard)
                finally:
                    watching.cancel()
        except NotFound as error:
            if not error.name:
                self.mapper.forget(ref.gvk)  # there is no such resource any more: the next time it is looked up again
            raise

    @overload
    async def wait_for(
        self, kind: type[R], name: str, namespace: str = "", until: Until = ..., *, timeout: float | None = None
    ) -> R | None: ...
    @overload
    async def wait_for(
        self,
        kind: GroupVersionKind | str | KindRef,
        name: str,
        namespace: str = "",
        until: Until = ...,
        *,
        timeout: float | None = None,
    ) -> Object | None: ...
    async def wait_for(
        self,
        kind: Kind[Any],
        name: str,
        namespace: str = "",
        until: Until = "create",
        *,
        timeout: float | None = None,
    ) -> Any:
        """Waits until an object is as wanted, by watching it, and returns it; None where it is gone.

        `until`: `"create"`, `"delete"`, `"condition=Ready"`, `"condition=Ready=False"`, `"jsonpath={.status.phase}"`,
        `"jsonpath={.status.phase}=Running"`, or a function of the object (None while there is none).
        Raises TimeoutError.
        """
        return await wait_for(self, kind_of(kind), name, namespace, until, timeout)


class _Heard:
    """A stream that knows when something last came, and is cut when that is too long ago."""

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
        self.cut(f"the watch stalled: nothing was heard for {seconds:g} s")


def _after(how: ListOptions, continue_: str) -> ListOptions:
    """How to ask for the page that follows."""
    return {**how, "continue_": continue_, "resource_version": "", "resource_version_match": ""}


def _whole(how: ListOptions) -> ListOptions:
    """How to ask for everything in one page."""
    return {**how, "limit": 0, "continue_": ""}


def _key(item: Any) -> tuple[str, str]:
    if isinstance(item, dict):
        metadata = metadata_of(item)
        return metadata.get("namespace", ""), metadata.get("name", "")
    return item.metadata.namespace or "", item.metadata.name or ""
